/* The accesses of steps that move data: copies, gathers, placed rows, dropout. */
#include "profile/cache/cache_steps.h"

/* `rows` x `columns` elements, one by one or, with dense columns, as vectors. */
typedef struct plane {
    size_t rows, columns;
    uint64_t from, to;
    size_t from_row, from_column, to_row, to_column;
} plane;

static void plane_numbers(const eg__cache_walk *w, const plane *p) {
    for (size_t r = 0; r < p->rows; r++)
        for (size_t i = 0; i < p->columns; i++) {
            eg__cache_read(w, p->from + sizeof(float) * (r * p->from_row + i * p->from_column), 1);
            eg__cache_write(w, p->to + sizeof(float) * (r * p->to_row + i * p->to_column), 1);
        }
}

/* Squares of `side` in strips of 64 columns. */
void eg__cache_transpose(const eg__cache_walk *w, size_t side, const eg__cache_move *m) {
    enum { STRIP = 64 }; /* as in transpose_f32_body.h */
    for (size_t strip = 0; strip < m->columns; strip += STRIP) {
        const size_t end = eg__min(strip + STRIP, m->columns);
        for (size_t r = 0; r < m->rows; r += side)
            for (size_t c = strip; c < end; c += side) {
                const uint64_t from = m->from + sizeof(float) * (r * m->from_stride + c);
                const uint64_t to = m->to + sizeof(float) * (c * m->to_stride + r);
                const size_t rows = eg__min(side, m->rows - r), columns = eg__min(side, end - c);
                if (rows < side || columns < side) {
                    plane_numbers(
                        w, &(plane){rows, columns, from, to, m->from_stride, 1, 1, m->to_stride});
                    continue;
                }
                for (size_t i = 0; i < side; i++)
                    eg__cache_read(w, from + sizeof(float) * i * m->from_stride, side);
                for (size_t i = 0; i < side; i++)
                    eg__cache_write(w, to + sizeof(float) * i * m->to_stride, side);
            }
    }
}

static void plane_run(const eg__cache_walk *w, plane p) {
    if (p.from_column == 1 && p.to_column == 1) {
        const size_t lanes = eg__cache_copy_lanes(w);
        if (p.from_row == p.columns && p.to_row == p.columns) p.columns *= p.rows, p.rows = 1;
        for (size_t r = 0; r < p.rows; r++)
            eg__cache_copy_row(w, p.from + sizeof(float) * r * p.from_row,
                               p.to + sizeof(float) * r * p.to_row, p.columns, lanes);
        return;
    }
    const size_t side = eg__cache_lanes(w, EG__OP_transpose_f32);
    if (p.from_row == 1 && p.to_column == 1)
        eg__cache_transpose(
            w, side, &(eg__cache_move){p.columns, p.rows, p.from, p.to, p.from_column, p.to_row});
    else if (p.from_column == 1 && p.to_row == 1)
        eg__cache_transpose(
            w, side, &(eg__cache_move){p.rows, p.columns, p.from, p.to, p.from_row, p.to_column});
    else plane_numbers(w, &p);
}

static void axes_run(const eg__cache_walk *w, const eg__step_copy *c, unsigned axis, size_t extent,
                     uint64_t from, uint64_t to) {
    if (axis + 2 == c->rank) {
        plane_run(w, (plane){extent, c->shape[axis + 1], from, to, c->from[axis], c->from[axis + 1],
                             c->to[axis], c->to[axis + 1]});
        return;
    }
    for (size_t i = 0; i < extent; i++)
        axes_run(w, c, axis + 1, c->shape[axis + 1], from + sizeof(float) * i * c->from[axis],
                 to + sizeof(float) * i * c->to[axis]);
}

/* Of elements of two bytes: number by number, or rows by memcpy. */
static void halves_run(const eg__cache_walk *w, const eg__step_copy *c, unsigned axis,
                       size_t extent, uint64_t from, uint64_t to) {
    enum { SIZE = 2 };
    const bool last = axis + 1 == c->rank;
    const size_t lanes =
        last && c->from[axis] == 1 && c->to[axis] == 1 ? 2 * eg__cache_copy_lanes(w) : 1;
    for (size_t i = 0; i < extent; i += lanes) {
        const size_t n = eg__min(lanes, extent - i);
        const uint64_t x = from + SIZE * i * c->from[axis], y = to + SIZE * i * c->to[axis];
        if (!last) halves_run(w, c, axis + 1, c->shape[axis + 1], x, y);
        else {
            eg__cache_access(w->cache, x, (unsigned)(n * SIZE), false);
            eg__cache_access(w->cache, y, (unsigned)(n * SIZE), true);
        }
    }
}

void eg__cache_step_copy(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_copy *copy = &step->u.copy;
    const size_t size = eg__element_size(step->operand[1].type);
    uint64_t to = eg__cache_at(w, &step->operand[1]);
    if (copy->every)
        to += size * copy->place *
              ((copy->reverse ? copy->length - 1 - w->time : w->time) / copy->every);
    if (size == 2) halves_run(w, copy, 0, w->count, eg__cache_at(w, &step->operand[0]), to);
    else axes_run(w, copy, 0, w->count, eg__cache_at(w, &step->operand[0]), to);
}

/* ---- by index */
typedef struct picked {
    uint64_t x, index, y;
    const eg__operand *o;
    size_t rows;
} picked;

static picked picked_of(const eg__cache_walk *w, const eg__step *step) {
    const eg__operand *o = step->operand;
    return (picked){eg__cache_at(w, &o[0]), eg__cache_at(w, &o[1]), eg__cache_at(w, &o[2]), o,
                    w->count * step->rows};
}

/* Below 0 = none. */
static int64_t row_of(const eg__cache_walk *w, const eg__step *step, size_t r) {
    const eg__operand *index = &step->operand[1];
    const int64_t at = eg__cache_index(w, index, r * index->stride, step->u.gather.limit);
    return index->space == EG__SPACE_CONSTANTS ? eg__gather_row((int32_t)at, step->u.gather.columns)
                                               : at;
}

void eg__cache_step_gather(const eg__cache_walk *w, const eg__step *step) {
    const picked p = picked_of(w, step);
    const size_t limit = step->u.gather.limit, lanes = eg__cache_copy_lanes(w);
    const size_t size = eg__element_size(p.o[0].type);
    const size_t floats = eg__ceil_div(step->columns * size, sizeof(float));
    for (size_t r = 0; r < p.rows; r++) {
        const int64_t at = row_of(w, step, r);
        const uint64_t to = p.y + size * r * p.o[2].stride;
        eg__cache_read(w, p.index + sizeof(float) * r * p.o[1].stride, 1);
        if (at >= 0 && (uint64_t)at < limit)
            eg__cache_copy_row(w, p.x + size * (size_t)at * p.o[0].stride, to, floats, lanes);
        else eg__cache_write_row(w, to, floats, lanes);
    }
}

/* The sums are a plain C loop, which compilers vectorize with the baseline vector width. */
void eg__cache_step_scatter(const eg__cache_walk *w, const eg__step *step) {
    enum { LEAST = 4 };
    const picked p = picked_of(w, step);
    const size_t limit = step->u.gather.limit, lanes = eg__cache_copy_lanes(w);
    for (size_t r = 0; r < limit; r++)
        eg__cache_write_row(w, p.y + sizeof(float) * r * p.o[2].stride, step->columns, lanes);
    for (size_t r = 0; r < p.rows; r++) {
        const int64_t at = row_of(w, step, r);
        eg__cache_read(w, p.index + sizeof(float) * r * p.o[1].stride, 1);
        if (at < 0 || (uint64_t)at >= limit) continue;
        const uint64_t from = p.x + sizeof(float) * r * p.o[0].stride;
        const uint64_t to = p.y + sizeof(float) * (size_t)at * p.o[2].stride;
        for (size_t i = 0; i < step->columns; i += LEAST) {
            const size_t n = eg__min(LEAST, step->columns - i);
            eg__cache_read(w, from + sizeof(float) * i, n);
            eg__cache_read(w, to + sizeof(float) * i, n);
            eg__cache_write(w, to + sizeof(float) * i, n);
        }
    }
}

/* The start row is an input, hence unknown: the first row is assumed. */
void eg__cache_step_slice_update(const eg__cache_walk *w, const eg__step *step) {
    eg__cache_read(w, eg__cache_at(w, &step->operand[1]), 1);
    eg__cache_copy_row(w, eg__cache_at(w, &step->operand[0]), eg__cache_at(w, &step->operand[2]),
                       step->rows * step->columns, eg__cache_copy_lanes(w));
}

/* Number by number: the bits that decide are drawn one at a time. */
void eg__cache_step_dropout(const eg__cache_walk *w, const eg__step *step) {
    const uint64_t x = eg__cache_at(w, &step->operand[0]), y = eg__cache_at(w, &step->operand[1]);
    for (size_t r = 0; r < w->count * step->rows; r++)
        eg__cache_copy_row(w, x + sizeof(float) * r * step->operand[0].stride,
                           y + sizeof(float) * r * step->operand[1].stride, step->columns, 1);
}
