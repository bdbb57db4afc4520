/* Runs the parts of a program on devices: transfers inputs, submits, waits, transfers outputs. */
#include "graph/steps/program.h"

static size_t bytes_now(const eg__run *run, const eg__part_value *value) {
    return value->timed ? value->bytes / run->program->length * run->length : value->bytes;
}

static eg_status bind(eg__part_instance *p, size_t at, eg__device_buffer *buffer, eg_error *error) {
    eg__device *device = p->part->device;
    const bool is_input = at < p->part->inputs;
    return device->bind(device, p->instance, is_input ? EG__DEVICE_INPUT : EG__DEVICE_OUTPUT,
                        is_input ? at : at - p->part->inputs, buffer, error);
}

eg_status eg__part_copies(eg__part_instance *p, size_t at, eg_error *error) {
    eg__part_bound *bound = &p->bound[at];
    bound->host = NULL;
    if (!bound->imported) return EG_OK;
    const eg_status status = bind(p, at, bound->own, error);
    if (status) return status;
    p->part->device->give(p->part->device, bound->imported);
    bound->imported = NULL;
    return EG_OK;
}

/* Imports the value at `host` if the device can; tried again only when the address changes. In a
 * shorter run values are copied instead: the device may read the full length, and the host's memory
 * may end earlier. */
static eg_status place(eg__part_instance *p, size_t at, void *host, size_t bytes, eg_error *error) {
    eg__device *device = p->part->device;
    eg__part_bound *bound = &p->bound[at];
    eg__device_buffer *buffer;
    if (!device->import || !bytes) return EG_OK;
    if (bound->host == host && bound->bytes == bytes) return EG_OK;
    eg_status status = eg__part_copies(p, at, error);
    if (status || bytes != p->part->values[at].bytes) return status;
    bound->host = host;
    bound->bytes = bytes;
    if (device->import(device, host, bytes, &buffer, NULL)) return EG_OK;
    status = bind(p, at, buffer, error);
    if (status) {
        device->give(device, buffer);
        bound->host = NULL;
    } else bound->imported = buffer;
    return status;
}

eg_status eg__run_submit(const eg__step *step, const eg__frame *frame) {
    eg__part_instance *p = &frame->run->parts[step->u.submit.part];
    eg__device *device = p->part->device;
    eg_status status = EG_OK;
    for (size_t i = 0; i < p->part->inputs + p->part->outputs && !status; i++) {
        void *host = eg__operand_at(frame, &step->operand[i]);
        const size_t bytes = bytes_now(frame->run, &p->part->values[i]);
        status = place(p, i, host, bytes, frame->error);
        if (!status && i < p->part->inputs && !p->bound[i].imported)
            status = device->write(device, p->bound[i].own, host, bytes, frame->error);
    }
    const size_t length = frame->run->program->length ? frame->run->length : 0;
    if (!status)
        status =
            device->submit(device, p->instance, length, frame->run->seed, &p->fence, frame->error);
    p->is_open = !status;
    return status;
}

eg_status eg__run_wait(const eg__step *step, const eg__frame *frame) {
    eg__part_instance *p = &frame->run->parts[step->u.submit.part];
    eg__device *device = p->part->device;
    p->is_open = false;
    eg_status status = device->wait(device, p->fence, frame->error);
    for (size_t at = p->part->inputs; at < p->part->inputs + p->part->outputs && !status; at++)
        if (!p->bound[at].imported)
            status =
                device->read(device, p->bound[at].own, eg__operand_at(frame, &step->operand[at]),
                             bytes_now(frame->run, &p->part->values[at]), frame->error);
    return status;
}
