/* What steps on rows do when they run: reductions, softmax, norms. */
#include "graph/steps/program.h"

eg_status eg__run_reduce(const eg__step *step, const eg__frame *frame) {
    const eg__step_rows *r = &step->u.row;
    const eg__reduce_f32_args args = {r->reduction,
                                      frame->count * step->rows,
                                      eg__frame_timed(frame, step->columns, r->height_timed),
                                      eg__operand_at(frame, &step->operand[0]),
                                      step->operand[0].stride,
                                      eg__operand_at(frame, &step->operand[1]),
                                      NULL};
    step->function[0].reduce_f32(&args);
    return EG_OK;
}

eg_status eg__run_argmax(const eg__step *step, const eg__frame *frame) {
    const eg__reduce_f32_args args = {EG__REDUCE_ARGMAX,
                                      frame->count * step->rows,
                                      step->columns,
                                      eg__operand_at(frame, &step->operand[0]),
                                      step->operand[0].stride,
                                      NULL,
                                      eg__operand_at(frame, &step->operand[1])};
    step->function[0].reduce_f32(&args);
    return EG_OK;
}

eg_status eg__run_softmax(const eg__step *step, const eg__frame *frame) {
    const eg__softmax_f32_args args = {frame->count * step->rows,
                                       step->columns,
                                       eg__operand_at(frame, &step->operand[0]),
                                       step->operand[0].stride,
                                       eg__operand_at(frame, &step->operand[1]),
                                       step->operand[1].stride,
                                       step->u.row.logarithm};
    step->function[0].softmax_f32(&args);
    return EG_OK;
}

static eg__norm_f32_args norm_args(const eg__step *step, const eg__frame *frame) {
    return (eg__norm_f32_args){frame->count * step->rows,
                               step->columns,
                               eg__operand_at(frame, &step->operand[0]),
                               step->operand[0].stride,
                               eg__operand_at(frame, &step->operand[1]),
                               step->operand[1].stride,
                               NULL,
                               NULL,
                               step->u.row.number};
}
eg_status eg__run_layer_norm(const eg__step *step, const eg__frame *frame) {
    const eg__norm_f32_args args = norm_args(step, frame);
    step->function[0].layernorm_f32(&args);
    return EG_OK;
}
eg_status eg__run_rms_norm(const eg__step *step, const eg__frame *frame) {
    const eg__norm_f32_args args = norm_args(step, frame);
    step->function[0].rmsnorm_f32(&args);
    return EG_OK;
}
