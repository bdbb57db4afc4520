/* Runs sums of squares: threads sum blocks in any order, then the block sums are added in a fixed
 * order. */
#include "graph/ops/squares.h"
#include "graph/steps/program.h"

static double block_sum(const eg__step *step, const float *x, size_t block) {
    const size_t n = step->u.sum_squares.n, each = eg__squares_each(n), first = block * each;
    double sum;
    const eg__squares_f32_args args = {eg__min(each, n - first), x + first, &sum};
    step->function[0].squares_f32(&args);
    return sum;
}

/* The sums of blocks are kept in the scratch of all threads. Only steps outside of scans are
 * split. */
eg_status eg__run_sum_squares(const eg__step *step, const eg__frame *frame) {
    const eg__frame whole = {.run = frame->run, .base = frame->base, .time = frame->time};
    const float *x = eg__operand_at(&whole, &step->operand[0]);
    double *const sums = (double *)(void *)frame->run->scratch, sum = 0;
    if (frame->phase == EG__PHASE_SLICES) {
        for (size_t b = frame->first; b < frame->first + frame->count; b++)
            sums[b] = block_sum(step, x, b);
        return EG_OK;
    }
    for (size_t b = 0; b < eg__squares_blocks(step->u.sum_squares.n); b++)
        sum += frame->phase == EG__PHASE_SUM ? sums[b] : block_sum(step, x, b);
    eg__squares_split(sum, eg__operand_at(&whole, &step->operand[1]));
    return EG_OK;
}
