/* What the steps of a program do to a cache: the accesses of their kernels, address by address. */
#ifndef EG__CACHE_STEPS_H
#define EG__CACHE_STEPS_H

#include "graph/steps/program.h"
#include "profile/cache/cache.h"

/* One thread that runs all items. */
typedef struct eg__cache_walk {
    eg__cache *cache;
    const eg_program *program;
    eg__cache_counts *counts;  /* per step of the program */
    const uint64_t *base;      /* addresses of the spaces */
    uint64_t scratch, stack;   /* and of what a thread has beside them */
    uint64_t steps, operands;  /* and of the program's own description */
    size_t length;             /* steps of the scans */
    size_t time, first, count; /* as in eg__frame */
    const eg__step *step;      /* the one that runs */
} eg__cache_walk;

/* Bytes of stack that eg__cache_walk needs: the buffers of the interpreter. */
enum { EG__CACHE_STACK = 65536 };

void eg__cache_walk_run(eg__cache_walk *walk); /* the whole program, once */

/* ---- for the files that know the kernels */
static inline uint64_t eg__cache_at(const eg__cache_walk *w, const eg__operand *o) {
    return w->base[o->space] + o->offset + w->time * o->time + w->first * o->item +
           w->count * o->scale;
}
static inline size_t eg__cache_timed(const eg__cache_walk *w, size_t n, bool per_step) {
    return per_step ? n * w->length : n;
}
/* Floats of a vector of the kernel that the step has for an operation, or else the program: 16, 8, 4, or 1. */
size_t eg__cache_lanes(const eg__cache_walk *w, eg__operation operation);
size_t eg__cache_copy_lanes(const eg__cache_walk *w); /* of memcpy and memset */

/* `floats` floats from `at` on. */
static inline void eg__cache_read(const eg__cache_walk *w, uint64_t at, size_t floats) {
    eg__cache_access(w->cache, at, (unsigned)(floats * sizeof(float)), false);
}
static inline void eg__cache_write(const eg__cache_walk *w, uint64_t at, size_t floats) {
    eg__cache_access(w->cache, at, (unsigned)(floats * sizeof(float)), true);
}
/* `n` floats, vector by vector, the last one partly. */
void eg__cache_read_row(const eg__cache_walk *w, uint64_t at, size_t n, size_t lanes);
void eg__cache_write_row(const eg__cache_walk *w, uint64_t at, size_t n, size_t lanes);
void eg__cache_copy_row(const eg__cache_walk *w, uint64_t from, uint64_t to, size_t n,
                        size_t lanes);
/* Entry i of a list of indices: its value if the list is a constant, else an arbitrary one below
 * the limit. */
int64_t eg__cache_index(const eg__cache_walk *w, const eg__operand *list, size_t i, size_t limit);

/* Row r, column c goes to column r of row c. */
typedef struct eg__cache_move {
    size_t rows, columns;
    uint64_t from, to;
    size_t from_stride, to_stride;
} eg__cache_move;
void eg__cache_transpose(const eg__cache_walk *w, size_t side, const eg__cache_move *move);

typedef struct eg__cache_fused {
    const eg__fused_program *program;
    size_t rows, columns;
    uint64_t at[EG__FUSED_OPERANDS];
    size_t stride[EG__FUSED_OPERANDS];
} eg__cache_fused;
/* The chain of a step, whose operands are those of the step from `first` on. */
eg__cache_fused eg__cache_chain(const eg__cache_walk *w, const eg__step *step, unsigned first,
                                const eg__fused_program *program, size_t rows, size_t columns);
void eg__cache_fused_run(const eg__cache_walk *w, const eg__cache_fused *fused);

/* A product with a packed right side, as gemm_f32 of these lanes makes it. */
typedef struct eg__cache_product {
    size_t m, n, k;
    uint64_t a, b, c;
    size_t a_stride, c_stride;
    bool accumulate;
} eg__cache_product;
void eg__cache_product_run(const eg__cache_walk *w, size_t lanes, const eg__cache_product *product);

/* What the kernel for sums of columns reads and writes. */
void eg__cache_column_sum(const eg__cache_walk *w, size_t rows, size_t columns, uint64_t x,
                          size_t stride, uint64_t y);

typedef void eg__cache_step(const eg__cache_walk *w, const eg__step *step);
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, accesses, ...) \
    eg__cache_step eg__cache_step_##accesses; /* `none` is never defined */
#include "graph/steps/steps.def"

#endif
