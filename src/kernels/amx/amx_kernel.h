/* What kernels with AMX share. */
#ifndef EG__AMX_KERNEL_H
#define EG__AMX_KERNEL_H

#include "kernels/amx/amx.h"
#include "kernels/kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    EG__AMX_REGISTER = 64,  /* bytes, of a row of Z, too */
    EG__AMX_TOGETHER = 128, /* what several registers are loaded from is aligned to so much */
};

/* Registers of X or Y that take turns. They are filled from memory in its order, two by one instruction where it is
 * aligned for that: a matrix unit is bound by the number of loads. */
typedef struct eg__amx_ring {
    uintptr_t at;
    size_t left;            /* registers that memory still has */
    unsigned first, count;  /* registers of this ring; count is 2, 4 or 8 */
    unsigned filled, taken; /* so far; a pair begins at an even one */
} eg__amx_ring;
INLINE eg__amx_ring eg__amx_ring_begin(const void *from, size_t registers, unsigned first,
                                       unsigned count) {
    const unsigned skipped = (uintptr_t)from % EG__AMX_TOGETHER ? count - 1 : 0;
    return (eg__amx_ring){(uintptr_t)from, registers, first, count, skipped, skipped};
}
/* The offset in bytes of the next register. */
INLINE unsigned eg__amx_ring_next(eg__amx_ring *r, bool is_x) {
    if (r->taken == r->filled) {
        const bool pair = r->left > 1 && r->at % EG__AMX_TOGETHER == 0;
        const uint64_t operand = eg__amx_memory_operand((eg__amx_memory){
            .at = (const void *)r->at, .to = r->first + r->filled % r->count, .pair = pair});
        if (is_x) eg__amx_ldx(operand);
        else eg__amx_ldy(operand);
        r->filled += pair ? 2 : 1;
        r->left -= pair ? 2 : 1;
        r->at += pair ? 2 * EG__AMX_REGISTER : EG__AMX_REGISTER;
    }
    return (r->first + r->taken++ % r->count) * EG__AMX_REGISTER;
}

/* A tile of C, finished in pieces of a row: sixteen columns, or what is left of them. */
typedef struct eg__amx_out {
    size_t rows, columns;
    float *c;
    size_t c_stride;
    const float *add; /* NULL = nothing */
    size_t add_stride;
    float *stage; /* sixteen floats */
} eg__amx_out;
/* `first`: of the parts of k, which adds what the product does; the others add to C. */
INLINE eg__amx_out eg__amx_out_at(const eg__gemm_f32_args *g, size_t row, size_t rows,
                                  size_t column, size_t columns, bool first, float *stage) {
    const bool to_c = !first || g->accumulate;
    const float *add = to_c ? g->c : g->add;
    const size_t stride = to_c ? g->c_stride : g->add_stride;
    return (eg__amx_out){rows,
                         columns,
                         g->c + row * g->c_stride + column,
                         g->c_stride,
                         add ? add + row * stride + column : NULL,
                         stride,
                         stage};
}
/* Where a piece is to be stored: in its place, if nothing is added. Then eg__amx_out_end. */
INLINE float *eg__amx_out_begin(const eg__amx_out *o, size_t row, size_t column) {
    const bool in_place = !o->add && o->columns - column >= EG__PANEL;
    return in_place ? o->c + row * o->c_stride + column : o->stage;
}
INLINE void eg__amx_out_end(const eg__amx_out *o, size_t row, size_t column, const float *stored) {
    if (stored != o->stage) return;
    float *c = o->c + row * o->c_stride + column;
    const float *add = o->add ? o->add + row * o->add_stride + column : NULL;
    for (size_t j = 0; j < eg__min(EG__PANEL, o->columns - column); j++)
        c[j] = add ? stored[j] + add[j] : stored[j];
}
INLINE void eg__amx_epilogue(const eg__gemm_f32_args *g, const eg__amx_out *o, size_t row,
                             size_t column) {
    if (g->epilogue)
        g->epilogue->apply(g->epilogue->user, o->c, o->c_stride, row, o->rows, column, o->columns);
}

/* The first address in `scratch` from which several registers can be loaded. */
INLINE void *eg__amx_aligned(void *scratch) {
    return (char *)scratch + -(uintptr_t)scratch % EG__AMX_TOGETHER;
}

#endif
