/* Split-K for column sums and transposed products: the rows of every time step are split as threads
 * split the samples of a batch, so that a thread sums rows that it wrote itself. Rows that another
 * core has read would have to be invalidated there when the next run writes them, which costs as
 * much as fetching them. Slices do not depend on the number of threads, so neither do the sums. */
#include "graph/steps/program.h"

/* The rows of a sum: `rows` per time step, contiguous. */
typedef struct depth {
    size_t times, rows;
} depth;

static depth depth_of(const eg__frame *frame, size_t rows, bool timed) {
    return (depth){timed ? frame->run->length : 1, rows};
}

/* Adds up the slices, which lie one after the other in the scratch of all threads. Only steps
 * outside of scans have slices. */
static void slices_add(const eg__kernel *sum, const eg__frame *frame, size_t slices, size_t rows,
                       size_t columns, float *to, size_t stride) {
    const size_t size = rows * columns;
    if (stride == columns) columns = size, rows = 1;
    for (size_t r = 0; r < rows; r++) {
        const eg__column_sum_f32_args args = {
            slices, columns, frame->run->scratch + r * columns, size, to + r * stride, false};
        sum->function.column_sum_f32(&args);
    }
}

/* ---- products */

/* Computes `m` rows of C from `row` on, over slice `slice` of the depth. */
static void transposed_slice(const eg__step *step, const eg__frame *frame, size_t slice, size_t row,
                             size_t m) {
    const eg__step_gemm *g = &step->u.gemm;
    const eg__operand *o = step->operand;
    const depth d = depth_of(frame, g->k, g->k_timed);
    const size_t slices = step->slices, from = d.rows * slice / slices;
    const eg__frame at = {
        .run = frame->run, .base = frame->base, .time = frame->time, .first = row};
    eg__gemm_tn_f32_args args = {.m = m,
                                 .n = g->n,
                                 .k = d.rows * (slice + 1) / slices - from,
                                 .a_stride = o[0].stride,
                                 .b_stride = o[1].stride,
                                 .c = frame->run->scratch + (slice * step->items + row) * g->n,
                                 .c_stride = g->n,
                                 .blocks = step->blocks};
    for (size_t t = 0; t < d.times; t++) {
        args.a = eg__operand_f32(&at, &o[0]) + (t * d.rows + from) * args.a_stride;
        args.b = eg__operand_f32(&at, &o[1]) + (t * d.rows + from) * args.b_stride;
        args.add = t > 0;
        step->function[0].gemm_tn_f32(&args);
    }
}

static void transposed_slices(const eg__step *step, const eg__frame *frame) {
    const size_t end =
        frame->phase == EG__PHASE_SLICES ? frame->first + frame->count : step->items * step->slices;
    for (size_t i = frame->first, m; i < end; i += m) {
        const size_t row = i % step->items;
        m = eg__min(step->items - row, end - i);
        transposed_slice(step, frame, i / step->items, row, m);
    }
}

eg_status eg__run_gemm_tn(const eg__step *step, const eg__frame *frame) {
    const eg__step_gemm *g = &step->u.gemm;
    const eg__operand *o = step->operand;
    const size_t m = frame->count * step->rows;
    if (!step->slices) {
        const depth d = depth_of(frame, g->k, g->k_timed);
        const eg__gemm_tn_f32_args args = {.m = m,
                                           .n = g->n,
                                           .k = d.times * d.rows,
                                           .a = eg__operand_at(frame, &o[0]),
                                           .a_stride = o[0].stride,
                                           .b = eg__operand_at(frame, &o[1]),
                                           .b_stride = o[1].stride,
                                           .c = eg__operand_at(frame, &o[2]),
                                           .c_stride = o[2].stride,
                                           .blocks = step->blocks};
        step->function[0].gemm_tn_f32(&args);
    } else {
        if (frame->phase != EG__PHASE_SUM) transposed_slices(step, frame);
        if (frame->phase == EG__PHASE_SLICES) return EG_OK;
        slices_add(step->kernel[1], frame, step->slices, m, g->n, eg__operand_at(frame, &o[2]),
                   o[2].stride);
    }
    if (!g->has_epilogue) return EG_OK;
    eg__fused_epilogue fused;
    eg__epilogue_fill(step, frame, step->function[2].fused_f32, m, &g->epilogue, &fused);
    fused.kernel(&fused.args);
    return EG_OK;
}

/* ---- columns */

/* Each slice has one row of sums per time step. */
static void column_slices(const eg__step *step, const eg__frame *frame) {
    const eg__operand *o = &step->operand[0];
    const depth d = depth_of(frame, step->u.row.height, step->u.row.height_timed);
    const float *x = (const void *)(frame->base[o->space] + o->offset +
                                    frame->time * o->time); /* of all items */
    const bool some = frame->phase == EG__PHASE_SLICES;
    const size_t first = some ? frame->first : 0, end = some ? first + frame->count : step->slices;
    for (size_t s = first; s < end; s++)
        for (size_t t = 0; t < d.times; t++) {
            const size_t from = d.rows * s / step->slices;
            const eg__column_sum_f32_args args = {d.rows * (s + 1) / step->slices - from,
                                                  step->columns,
                                                  x + (t * d.rows + from) * o->stride,
                                                  o->stride,
                                                  frame->run->scratch +
                                                      (s * d.times + t) * step->columns,
                                                  false};
            step->function[0].column_sum_f32(&args);
        }
}

eg_status eg__run_column_sum(const eg__step *step, const eg__frame *frame) {
    const eg__step_rows *r = &step->u.row;
    const depth d = depth_of(frame, r->height, r->height_timed);
    const size_t height = d.times * d.rows;
    if (step->slices) {
        if (frame->phase != EG__PHASE_SUM) column_slices(step, frame);
        if (frame->phase == EG__PHASE_SLICES) return EG_OK;
        slices_add(step->kernel[0], frame, step->slices * d.times, 1, step->columns,
                   eg__operand_at(frame, &step->operand[1]), step->columns);
        return EG_OK;
    }
    const float *x = eg__operand_at(frame, &step->operand[0]);
    float *y = eg__operand_at(frame, &step->operand[1]);
    for (size_t i = 0; i < frame->count * step->rows; i++) {
        const eg__column_sum_f32_args args = {height,
                                              step->columns,
                                              x + i * height * step->operand[0].stride,
                                              step->operand[0].stride,
                                              y + i * step->columns,
                                              r->reduction == EG__REDUCE_MEAN};
        step->function[0].column_sum_f32(&args);
    }
    return EG_OK;
}

/* ---- whether slices pay, and the scratch they need */
void eg__step_slice(eg__step *step, size_t all) {
    enum { SLICES = 2, LEAST_ROWS = 64, LEAST_DEPTH = 512, LARGEST = 32768 };
    const bool product = step->kind == EG__STEP_gemm_tn;
    const size_t rows = product ? step->u.gemm.k : step->u.row.height; /* per time step */
    if (step->timed || step->rows != 1 || rows < LEAST_ROWS || all < LEAST_DEPTH) return;
    if (product ? step->items * step->columns > LARGEST
                : step->items != 1 || step->u.row.reduction != EG__REDUCE_SUM)
        return;
    step->slices = SLICES;
}

size_t eg__step_scratch_slices(const eg__step *step, size_t length) {
    const bool columns = step->kind == EG__STEP_column_sum;
    const size_t times = columns && step->u.row.height_timed ? length : 1;
    return step->slices * times * step->items * step->columns;
}
