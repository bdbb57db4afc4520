/* What chains of elementwise operations do when they run, and dropout. */
#include "graph/steps/program.h"

eg_status eg__run_fused(const eg__step *step, const eg__frame *frame) {
    const eg__step_fused *fused = &step->u.fused;
    eg__fused_f32_args args;
    args.program = &fused->program;
    if (fused->flat) {
        args.rows = 1;
        args.columns =
            eg__min(fused->flat - frame->first * EG__FLAT, frame->count * (size_t)EG__FLAT);
    } else {
        args.rows = frame->count * step->rows;
        args.columns = step->columns;
    }
    for (unsigned i = 0; i < step->operands; i++) {
        args.operand[i].data = eg__operand_at(frame, &step->operand[i]);
        args.operand[i].stride = step->operand[i].stride;
    }
    step->function[0].fused_f32(&args);
    return EG_OK;
}

eg_status eg__run_dropout(const eg__step *step, const eg__frame *frame) {
    const eg__step_dropout *r = &step->u.dropout;
    const float *x = eg__operand_at(frame, &step->operand[0]);
    float *y = eg__operand_at(frame, &step->operand[1]);
    const uint64_t time = r->in_scan ? frame->time + r->first : 0;
    const float scale = (float)(1 / (1 - r->rate));
    for (size_t row = 0; row < frame->count * step->rows; row++) {
        const uint64_t from = (frame->first * step->rows + row) * step->columns;
        for (size_t i = 0; i < step->columns; i++) {
            uint64_t bits = eg__dropout_bits(frame->run->seed, r->key, time, from + i);
            bool drops = (double)(bits >> 11) * 0x1p-53 < r->rate;
            float value = x[row * step->operand[0].stride + i];
            y[row * step->operand[1].stride + i] = drops ? 0 : value * scale;
        }
    }
    return EG_OK;
}
