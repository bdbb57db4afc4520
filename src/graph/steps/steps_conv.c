/* What the steps of convolutions do when they run. */
#include "graph/steps/program.h"

static eg__conv_f32_args args_of(const eg__step *step, const eg__frame *frame) {
    return (eg__conv_f32_args){.shape = &step->u.conv.shape,
                               .x = eg__operand_at(frame, &step->operand[0]),
                               .out = eg__operand_at(frame, &step->operand[2]),
                               .samples = step->u.conv.samples,
                               .first = frame->first,
                               .count = frame->count,
                               .scratch = frame->scratch};
}

enum { UNFOLD, GEMM, DEPTHWISE, TRANSPOSE }; /* kernels */

eg_status eg__run_conv(const eg__step *step, const eg__frame *frame) {
    eg__conv_f32_args args = args_of(step, frame);
    args.w = eg__operand_at(frame, &step->operand[1]);
    const eg__conv_kernels kernels = {.unfold = step->function[UNFOLD].unfold_f32,
                                      .gemm = step->function[GEMM].gemm_f32,
                                      .depthwise = step->function[DEPTHWISE].depthwise_f32,
                                      .blocks = step->blocks};
    eg__conv_f32(&kernels, &args);
    return EG_OK;
}

eg_status eg__run_conv_dw(const eg__step *step, const eg__frame *frame) {
    eg__conv_f32_args args = args_of(step, frame);
    args.dy = eg__operand_at(frame, &step->operand[1]);
    const eg__conv_kernels kernels = {.unfold = step->function[UNFOLD].unfold_f32,
                                      .gemm = step->function[GEMM].gemm_f32,
                                      .depthwise_dw = step->function[DEPTHWISE].depthwise_dw_f32,
                                      .transpose = step->function[TRANSPOSE].transpose_f32,
                                      .blocks = step->blocks};
    eg__conv_dw_f32(&kernels, &args);
    return EG_OK;
}
