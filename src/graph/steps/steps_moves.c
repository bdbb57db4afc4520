/* What copies do when they run. */
#include "graph/steps/program.h"

#include <string.h>

enum { COPY, TRANSPOSE }; /* kernels */

typedef struct mover {
    const eg__step_copy *copy;
    const eg__kernel *const *kernel;
} mover;

static void move_plane(const mover *m, unsigned axis, size_t rows, const float *from, float *to) {
    const eg__step_copy *c = m->copy;
    const size_t columns = c->shape[axis + 1];
    const size_t from_row = c->from[axis], from_column = c->from[axis + 1];
    const size_t to_row = c->to[axis], to_column = c->to[axis + 1];
    eg__move_f32_args args = {rows, columns, from, from_row, to, to_row};
    if (from_column == 1 && to_column == 1) m->kernel[COPY]->function.copy_f32(&args);
    else if (from_row == 1 && to_column == 1) {
        args = (eg__move_f32_args){columns, rows, from, from_column, to, to_row};
        m->kernel[TRANSPOSE]->function.transpose_f32(&args);
    } else if (from_column == 1 && to_row == 1) {
        args.y_stride = to_column;
        m->kernel[TRANSPOSE]->function.transpose_f32(&args);
    } else
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < columns; i++)
                to[r * to_row + i * to_column] = from[r * from_row + i * from_column];
}

/* The same for elements of two bytes. */
static void move_halves(const eg__step_copy *c, unsigned axis, size_t extent, const uint16_t *from,
                        uint16_t *to) {
    const bool last = axis + 1 == c->rank;
    if (last && c->from[axis] == 1 && c->to[axis] == 1) memcpy(to, from, extent * sizeof *to);
    else
        for (size_t i = 0; i < extent; i++, from += c->from[axis], to += c->to[axis])
            if (last) *to = *from;
            else move_halves(c, axis + 1, c->shape[axis + 1], from, to);
}

/* Copies the axes from `axis` on; the first of them has `extent` elements. */
static void move(const mover *m, unsigned axis, size_t extent, const float *from, float *to) {
    const eg__step_copy *c = m->copy;
    if (axis + 2 == c->rank) {
        move_plane(m, axis, extent, from, to);
        return;
    }
    for (size_t i = 0; i < extent; i++)
        move(m, axis + 1, c->shape[axis + 1], from + i * c->from[axis], to + i * c->to[axis]);
}

eg_status eg__run_copy(const eg__step *step, const eg__frame *frame) {
    const eg__step_copy *copy = &step->u.copy;
    const float *from = eg__operand_at(frame, &step->operand[0]);
    float *to = eg__operand_at(frame, &step->operand[1]);
    const size_t place = copy->every
                             ? (copy->reverse ? copy->length - 1 - frame->time : frame->time) /
                                   copy->every * copy->place
                             : 0;
    if (eg__is_half(step->operand[0].type)) {
        move_halves(copy, 0, frame->count, (const void *)from, (uint16_t *)(void *)to + place);
        return EG_OK;
    }
    to += place;
    if (copy->is_row && frame->count == 1) {
        memcpy(to, from, step->columns * sizeof *to);
        return EG_OK;
    }
    const mover m = {copy, step->kernel};
    move(&m, 0, frame->count, from, to);
    return EG_OK;
}
