/* Runs the steps that read an index: gather, scatter, slice_at and slice_update. */
#include "graph/steps/program.h"

#include <string.h>

bool eg__gather_piece(const eg__step *step, size_t first, size_t end, eg__step *piece) {
    const eg__step_gather *g = &step->u.gather;
    if (step->kind != EG__STEP_gather || !g->columns || step->operand[0].stride != 1) return false;
    *piece = *step;
    piece->u.gather.first = first;
    piece->u.gather.limit = end;
    return true;
}

eg_status eg__run_gather(const eg__step *step, const eg__frame *frame) {
    const char *x = eg__operand_at(frame, &step->operand[0]);
    const float *index = eg__operand_at(frame, &step->operand[1]); /* i32 values */
    char *y = eg__operand_at(frame, &step->operand[2]);
    const size_t size = eg__element_size(step->operand[0].type);
    const size_t bytes = step->columns * size, rows = frame->count * step->rows;
    const size_t first = step->u.gather.first;
    for (size_t r = 0; r < rows; r++) {
        int32_t at;
        memcpy(&at, index + r * step->operand[1].stride, sizeof at);
        at = eg__gather_row(at, step->u.gather.columns);
        char *to = y + r * step->operand[2].stride * size;
        if (at >= 0 && (size_t)at >= first && (size_t)at < step->u.gather.limit)
            memcpy(to, x + (size_t)at * step->operand[0].stride * size, bytes);
        else if (!first) memset(to, 0, bytes);
    }
    return EG_OK;
}

/* In order and never split among threads, so that sums are deterministic. */
eg_status eg__run_scatter(const eg__step *step, const eg__frame *frame) {
    const float *x = eg__operand_at(frame, &step->operand[0]);
    const float *index = eg__operand_at(frame, &step->operand[1]);
    float *y = eg__operand_at(frame, &step->operand[2]);
    const size_t stride = step->operand[2].stride, limit = step->u.gather.limit;
    for (size_t r = 0; r < limit; r++) memset(y + r * stride, 0, step->columns * sizeof *y);
    for (size_t r = 0; r < frame->count * step->rows; r++) {
        int32_t at;
        memcpy(&at, index + r * step->operand[1].stride, sizeof at);
        at = eg__gather_row(at, step->u.gather.columns);
        if (at < 0 || (size_t)at >= limit) continue;
        const float *from = x + r * step->operand[0].stride;
        float *to = y + (size_t)at * stride;
        for (size_t i = 0; i < step->columns; i++) to[i] += from[i];
    }
    return EG_OK;
}

/* Offset in floats of the row that operand 1 holds. */
static size_t place_of(const eg__step *step, const eg__frame *frame) {
    int32_t at;
    memcpy(&at, eg__operand_at(frame, &step->operand[1]), sizeof at);
    return (at < 0 ? 0 : eg__min((size_t)at, step->u.slice_update.limit)) * step->columns;
}
eg_status eg__run_slice_update(const eg__step *step, const eg__frame *frame) {
    float *to = eg__operand_f32(frame, &step->operand[2]) + place_of(step, frame);
    memcpy(to, eg__operand_at(frame, &step->operand[0]), step->rows * step->columns * sizeof *to);
    return EG_OK;
}
eg_status eg__run_slice_at(const eg__step *step, const eg__frame *frame) {
    float *to = eg__operand_at(frame, &step->operand[2]);
    const float *from = eg__operand_f32(frame, &step->operand[0]) + place_of(step, frame);
    memcpy(to, from, step->rows * step->columns * sizeof *to);
    return EG_OK;
}
