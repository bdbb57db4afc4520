/* The accesses of steps that work row by row: reductions, softmax, norms. */
#include "profile/cache/cache_steps.h"

static uint64_t row_at(uint64_t at, size_t row, size_t stride) {
    return at + sizeof(float) * row * stride;
}

/* max and min look for a NaN first. argmax then scans to the index it found, which is assumed to be
 * the middle. */
void eg__cache_step_reduce(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_rows *rows = &step->u.row;
    const size_t lanes = eg__cache_lanes(w, EG__OP_reduce_f32);
    const size_t columns = eg__cache_timed(w, step->columns, rows->height_timed);
    const bool argmax = step->kind == EG__STEP_argmax;
    const bool sums =
        !argmax && (rows->reduction == EG__REDUCE_SUM || rows->reduction == EG__REDUCE_MEAN);
    const uint64_t x = eg__cache_at(w, &step->operand[0]), y = eg__cache_at(w, &step->operand[1]);
    for (size_t r = 0; r < w->count * step->rows; r++) {
        const uint64_t row = row_at(x, r, step->operand[0].stride);
        eg__cache_read_row(w, row, columns, lanes);
        if (!sums && lanes > 1) eg__cache_read_row(w, row, columns, lanes);
        if (argmax && lanes > 1) eg__cache_read_row(w, row, columns / 2 + 1, 1);
        eg__cache_write(w, row_at(y, r, 1), 1);
    }
}

/* Every element once. The sums of blocks are few, and are left out. */
void eg__cache_step_sum_squares(const eg__cache_walk *w, const eg__step *step) {
    eg__cache_read_row(w, eg__cache_at(w, &step->operand[0]), step->u.sum_squares.n,
                       EG__SQUARES_LANES);
    eg__cache_write(w, eg__cache_at(w, &step->operand[1]), step->columns);
}

/* Strips of a few vectors, each down all rows. */
void eg__cache_column_sum(const eg__cache_walk *w, size_t rows, size_t columns, uint64_t x,
                          size_t stride, uint64_t y) {
    enum { ABREAST = 4 }; /* as in column_sum_f32_body.h */
    const size_t lanes = eg__cache_lanes(w, EG__OP_column_sum_f32);
    for (size_t column = 0, n; column < columns; column += n) {
        n = lanes > 1 ? eg__min(ABREAST * lanes, columns - column) : 1;
        for (size_t r = 0; r < rows; r++)
            eg__cache_read_row(w, row_at(x, r, stride) + sizeof(float) * column, n, lanes);
        eg__cache_write_row(w, y + sizeof(float) * column, n, lanes);
    }
}

void eg__cache_step_column_sum(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_rows *r = &step->u.row;
    const size_t height = eg__cache_timed(w, r->height, r->height_timed);
    const size_t slices = step->slices, stride = step->operand[0].stride;
    const uint64_t x = eg__cache_at(w, &step->operand[0]), y = eg__cache_at(w, &step->operand[1]);
    for (size_t s = 0, sums = 0; s < slices; s++)
        for (size_t t = 0; t < height / r->height; t++, sums++) {
            const size_t from = r->height * s / slices, to = r->height * (s + 1) / slices;
            eg__cache_column_sum(w, to - from, step->columns,
                                 row_at(x, t * r->height + from, stride), stride,
                                 row_at(w->scratch, sums, step->columns));
        }
    if (slices) {
        eg__cache_column_sum(w, slices * (height / r->height), step->columns, w->scratch,
                             step->columns, y);
        return;
    }
    for (size_t i = 0; i < w->count * step->rows; i++)
        eg__cache_column_sum(w, height, step->columns,
                             row_at(x, i * height, step->operand[0].stride),
                             step->operand[0].stride, row_at(y, i, step->columns));
}

/* The largest, then the exponentials, which are kept where the result goes, then the quotients. */
void eg__cache_step_softmax(const eg__cache_walk *w, const eg__step *step) {
    enum { TOGETHER = 4 }; /* vectors of a row that stays in registers */
    const size_t lanes = eg__cache_lanes(w, EG__OP_softmax_f32), n = step->columns;
    const bool logarithm = step->u.row.logarithm;
    for (size_t r = 0; r < w->count * step->rows; r++) {
        const uint64_t x = row_at(eg__cache_at(w, &step->operand[0]), r, step->operand[0].stride);
        const uint64_t y = row_at(eg__cache_at(w, &step->operand[1]), r, step->operand[1].stride);
        if (lanes > 1 && n <= TOGETHER * lanes && !logarithm) {
            eg__cache_read_row(w, x, n, lanes);
            eg__cache_write_row(w, y, n, lanes);
            continue;
        }
        const bool keeps = lanes > 1 && !logarithm;
        eg__cache_read_row(w, x, n, lanes);
        if (keeps) eg__cache_copy_row(w, x, y, n, lanes);
        else eg__cache_read_row(w, x, n, lanes);
        eg__cache_copy_row(w, keeps ? y : x, y, n, lanes);
    }
}

/* The mean where it is wanted, the squares, the result. */
void eg__cache_step_norm(const eg__cache_walk *w, const eg__step *step) {
    const bool centered = step->kind == EG__STEP_layer_norm;
    const size_t lanes = eg__cache_lanes(w, centered ? EG__OP_layernorm_f32 : EG__OP_rmsnorm_f32);
    for (size_t r = 0; r < w->count * step->rows; r++) {
        const uint64_t x = row_at(eg__cache_at(w, &step->operand[0]), r, step->operand[0].stride);
        const uint64_t y = row_at(eg__cache_at(w, &step->operand[1]), r, step->operand[1].stride);
        if (centered) eg__cache_read_row(w, x, step->columns, lanes);
        eg__cache_read_row(w, x, step->columns, lanes);
        eg__cache_copy_row(w, x, y, step->columns, lanes);
    }
}
