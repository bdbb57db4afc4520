/* What the steps of conductance sums and their gradients do when they run. */
#include "graph/steps/program.h"

static eg__synapses_f32_args synapse_args(const eg__step *step, const eg__frame *frame,
                                          size_t batch) {
    const eg__step_synapses *s = &step->u.synapses;
    const eg__operand *o = step->operand;
    return (eg__synapses_f32_args){
        .list = {s->sources, s->targets, s->count, eg__operand_at(frame, &o[5]), s->in_lanes},
        .batch = batch,
        .v = eg__operand_at(frame, &o[0]),
        .v_stride = o[0].stride,
        .weight = eg__operand_at(frame, &o[1]),
        .middle = eg__operand_at(frame, &o[2]),
        .slope = eg__operand_at(frame, &o[3]),
        .reversal = eg__operand_at(frame, &o[4]),
        .out = eg__operand_at(frame, &o[6]),
        .out_stride = o[6].stride,
        .scratch = frame->scratch};
}

eg_status eg__run_synapses(const eg__step *step, const eg__frame *frame) {
    const eg__synapses_f32_args args = synapse_args(step, frame, frame->count * step->rows);
    step->function[0].synapses_f32(&args);
    return EG_OK;
}

static eg__synapses_back_f32_args back_args(const eg__step *step, const eg__frame *frame,
                                            size_t batch) {
    return (eg__synapses_back_f32_args){.forward = synapse_args(step, frame, batch),
                                        .d = eg__operand_at(frame, &step->operand[7]),
                                        .d_stride = step->operand[7].stride,
                                        .result = eg__operand_at(frame, &step->operand[6]),
                                        .result_stride = step->operand[6].stride};
}
eg_status eg__run_synapses_dv(const eg__step *step, const eg__frame *frame) {
    const eg__synapses_back_f32_args args = back_args(step, frame, frame->count * step->rows);
    step->function[0].synapses_dv_f32(&args);
    return EG_OK;
}
eg_status eg__run_synapses_dp(const eg__step *step, const eg__frame *frame) {
    const eg__step_synapses *s = &step->u.synapses;
    eg__synapses_back_f32_args args =
        back_args(step, frame, eg__frame_timed(frame, s->batch, s->batch_timed));
    args.forward.list.count = frame->count; /* of the synapses, all samples */
    step->function[0].synapses_dp_f32(&args);
    return EG_OK;
}
