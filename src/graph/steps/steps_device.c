/* The steps of parts that run on devices: what they need goes there, what they computed comes back. */
#include "graph/steps/program.h"

static size_t bytes_now(const eg__run *run, const eg__part_value *value) {
    return value->timed ? value->bytes / run->program->length * run->length : value->bytes;
}

/* The buffer of a value that lies at `host`: imported, if the device can, as often as that changes. */
static eg_status bind(eg__part_instance *p, size_t at, void *host, size_t bytes, eg_error *error) {
    eg__device *device = p->part->device;
    eg__part_bound *bound = &p->bound[at];
    const bool is_input = at < p->part->inputs;
    if (!device->import || !bytes || (bound->host == host && bound->bytes == bytes)) return EG_OK;
    eg__device_buffer *buffer;
    if (device->import(device, host, bytes, &buffer, NULL))
        return bound->host ? eg__fail(error, EG_ERR_UNSUPPORTED,
                                      "device '%s' cannot import memory any more", device->name)
                           : EG_OK; /* copied, as from the beginning */
    const eg_status status =
        device->bind(device, p->instance, is_input ? EG__DEVICE_INPUT : EG__DEVICE_OUTPUT,
                     is_input ? at : at - p->part->inputs, buffer, error);
    device->give(device, status ? buffer : bound->buffer);
    if (!status) *bound = (eg__part_bound){buffer, host, bytes};
    return status;
}

eg_status eg__run_submit(const eg__step *step, const eg__frame *frame) {
    eg__part_instance *p = &frame->run->parts[step->u.submit.part];
    eg__device *device = p->part->device;
    eg_status status = EG_OK;
    for (size_t i = 0; i < p->part->inputs + p->part->outputs && !status; i++) {
        void *host = eg__operand_at(frame, &step->operand[i]);
        const size_t bytes = bytes_now(frame->run, &p->part->values[i]);
        status = bind(p, i, host, bytes, frame->error);
        if (!status && i < p->part->inputs && !p->bound[i].host)
            status = device->write(device, p->bound[i].buffer, host, bytes, frame->error);
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
        if (!p->bound[at].host)
            status =
                device->read(device, p->bound[at].buffer, eg__operand_at(frame, &step->operand[at]),
                             bytes_now(frame->run, &p->part->values[at]), frame->error);
    return status;
}
