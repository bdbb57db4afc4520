/* Parts of programs that run on devices: their instances, weights and states. */
#include "engine/parts.h"

static void *take(const eg_program *p, size_t count, size_t size, eg_status *status,
                  eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *memory = eg__memory_take_array(p->memory, EG_TAG_PROGRAM, count, size, &reason);
    if (!memory && !*status) *status = eg__fail(error, reason.status, "%s", reason.message);
    return memory;
}

eg_status eg__pages_take(const eg_program *p, eg_tag tag, size_t bytes, eg__space *out,
                         eg_error *error) {
    enum { LARGE = 1 << 18 };
    if (!bytes) return EG_OK;
    return p->context->placement.count || bytes >= LARGE
               ? eg__space_take(p->memory, tag, bytes, out, error)
               : eg__space_open(p->memory, tag, bytes, out, error);
}

/* ---- weights */
eg_status eg__part_weights_create(const eg_program *program, eg__device_weights ***out,
                                  eg_error *error) {
    eg_status status = EG_OK;
    *out = NULL;
    if (!program->part_count) return EG_OK;
    eg__device_weights **weights =
        take(program, program->part_count, sizeof *weights, &status, error);
    for (size_t i = 0; i < program->part_count && !status; i++) {
        const eg__part *part = &program->parts[i];
        status = part->device->weights_create(part->device, part->program, &weights[i], error);
    }
    if (status) eg__part_weights_release(program, weights);
    else *out = weights;
    return status;
}

eg_status eg__part_weights_write(const eg_program *program, eg__device_weights *const *weights,
                                 size_t index, const void *data, eg_error *error) {
    const size_t bytes = eg__leaf_bytes(&program->parameters.list[index]);
    eg_status status = EG_OK;
    for (size_t i = 0; weights && i < program->part_count; i++) {
        const eg__part *part = &program->parts[i];
        for (size_t k = 0; k < part->parameter_count && !status; k++)
            if (part->parameters[k] == index)
                status =
                    part->device->weights_write(part->device, weights[i], k, data, bytes, error);
    }
    return status;
}

eg_status eg__part_weights_end(const eg_program *program, eg__device_weights *const *weights,
                               eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; weights && i < program->part_count && !status; i++)
        status = program->parts[i].device->weights_end(program->parts[i].device, weights[i], error);
    return status;
}

void eg__part_weights_release(const eg_program *program, eg__device_weights **weights) {
    for (size_t i = 0; weights && i < program->part_count; i++)
        if (weights[i])
            program->parts[i].device->weights_release(program->parts[i].device, weights[i]);
    eg__memory_give(program->memory, weights);
}

bool eg__part_weights_reads(const eg_program *program, size_t index) {
    for (size_t i = 0; i < program->part_count; i++)
        for (size_t k = 0; k < program->parts[i].parameter_count; k++)
            if (program->parts[i].parameters[k] == index) return true;
    return false;
}

/* ---- instances */
static eg_status open_values(const eg_program *program, eg__part_instance *p, eg_error *error) {
    const eg__part *part = p->part;
    eg__device *device = part->device;
    const size_t count = part->inputs + part->outputs;
    eg_status status = EG_OK;
    p->bound = take(program, count + 1, sizeof *p->bound, &status, error);
    for (size_t i = 0; i < count && !status; i++) {
        const bool is_input = i < part->inputs;
        status = device->take(device, part->values[i].bytes, &p->bound[i].own, error);
        if (!status)
            status =
                device->bind(device, p->instance, is_input ? EG__DEVICE_INPUT : EG__DEVICE_OUTPUT,
                             is_input ? i : i - part->inputs, p->bound[i].own, error);
    }
    return status;
}

eg_status eg__parts_create(const eg_program *program, eg__device_weights *const *weights,
                           eg__part_instance **out, eg_error *error) {
    eg_status status = EG_OK;
    *out = NULL;
    if (!program->part_count) return EG_OK;
    eg__part_instance *parts = take(program, program->part_count, sizeof *parts, &status, error);
    for (size_t i = 0; i < program->part_count && !status; i++) {
        const eg__part *part = parts[i].part = &program->parts[i];
        status = part->device->instance_create(part->device, part->program, weights[i],
                                               &parts[i].instance, error);
        if (!status) status = open_values(program, &parts[i], error);
    }
    if (status) eg__parts_release(program, parts);
    else *out = parts;
    return status;
}

void eg__parts_release(const eg_program *program, eg__part_instance *parts) {
    for (size_t i = 0; parts && i < program->part_count && parts[i].part; i++) {
        eg__device *device = parts[i].part->device;
        if (parts[i].instance) device->instance_release(device, parts[i].instance);
        for (size_t k = 0; parts[i].bound && k < parts[i].part->inputs + parts[i].part->outputs;
             k++) {
            const eg__part_bound *bound = &parts[i].bound[k];
            if (bound->imported) device->give(device, bound->imported);
            if (bound->own) device->give(device, bound->own);
        }
        eg__memory_give(program->memory, parts[i].bound);
    }
    eg__memory_give(program->memory, parts);
}

eg_status eg__parts_forget(const eg_program *program, eg__part_instance *parts, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; parts && i < program->part_count; i++)
        for (size_t k = 0; k < parts[i].part->inputs + parts[i].part->outputs && !status; k++)
            status = eg__part_copies(&parts[i], k, error);
    return status;
}

void eg__parts_settle(const eg_program *program, eg__part_instance *parts) {
    for (size_t i = 0; i < program->part_count; i++) {
        if (parts[i].is_open)
            (void)parts[i].part->device->wait(parts[i].part->device, parts[i].fence, NULL);
        parts[i].is_open = false;
    }
}

/* ---- states */
bool eg__parts_have_states(const eg_program *program) {
    for (size_t i = 0; i < program->part_count; i++)
        if (program->parts[i].state_count) return true;
    return false;
}

eg_status eg__parts_sync(const eg_program *program, eg__part_instance *parts, char *plain,
                         char *caches, eg__device_way way, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; i < program->part_count; i++) {
        const eg__part *part = &program->parts[i];
        for (size_t k = 0; k < part->state_count && !status; k++) {
            const eg__leaf *leaf = &program->states.list[part->states[k]];
            char *host = (leaf->cached ? caches : plain) + leaf->offset;
            const size_t bytes = leaf->elements * eg_type_bits(leaf->type) / 8;
            status = part->device->state_copy(part->device, parts[i].instance, k, host, bytes, way,
                                              error);
        }
    }
    return status;
}
