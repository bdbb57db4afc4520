/* The accesses of gemm_tn_f32: blocks of rows, strips of columns and tiles of both sides, as
 * gemm_tn_f32_body.h cuts them. */
#include "profile/cache/cache_steps.h"

/* With addresses for pointers; strides in floats. */
typedef struct product {
    const eg__cache_walk *w;
    size_t lanes, m, n, k, depth; /* which it is cut into */
    uint64_t a, b, c;
    size_t a_stride, b_stride, c_stride;
    bool add;
} product;

static size_t part_size(size_t n, size_t count, size_t i) { return n / count + (i < n % count); }

static void tile_run(const product *p, size_t k, size_t row, size_t rows, size_t column,
                     size_t width) {
    const size_t depth = eg__min(p->depth, p->k - k);
    for (size_t i = k; i < k + depth; i++) {
        eg__cache_read_row(p->w, p->b + sizeof(float) * (i * p->b_stride + column), width,
                           p->lanes);
        for (size_t r = row; r < row + rows; r++)
            eg__cache_read(p->w, p->a + sizeof(float) * (i * p->a_stride + r), 1);
    }
    for (size_t r = row; r < row + rows; r++) {
        const uint64_t c = p->c + sizeof(float) * (r * p->c_stride + column);
        if (k || p->add) eg__cache_copy_row(p->w, c, c, width, p->lanes);
        else eg__cache_write_row(p->w, c, width, p->lanes);
    }
}

static void blocks_run(const product *p) {
    const size_t most = p->lanes == 8 ? 2 : 4, vectors = eg__ceil_div(p->n, p->lanes);
    const size_t strips = eg__ceil_div(vectors, most), tiles = eg__ceil_div(p->m, EG__GEMM_TN_ROWS);
    for (size_t k = 0; !k || k < p->k; k += p->depth)
        for (size_t i = 0, column = 0, width; i < strips; i++, column += width) {
            width = eg__min(part_size(vectors, strips, i) * p->lanes, p->n - column);
            for (size_t h = 0, row = 0; h < tiles; row += part_size(p->m, tiles, h++))
                tile_run(p, k, row, part_size(p->m, tiles, h), column, width);
        }
}

/* The definition: column by column, number by number. */
static void ref_run(const product *p) {
    for (size_t r = 0; r < p->m; r++)
        for (size_t j = 0; j < p->n; j++) {
            for (size_t i = 0; i < p->k; i++) {
                eg__cache_read(p->w, p->a + sizeof(float) * (i * p->a_stride + r), 1);
                eg__cache_read(p->w, p->b + sizeof(float) * (i * p->b_stride + j), 1);
            }
            if (p->add) eg__cache_read(p->w, p->c + sizeof(float) * (r * p->c_stride + j), 1);
            eg__cache_write(p->w, p->c + sizeof(float) * (r * p->c_stride + j), 1);
        }
}

static void product_run(const product *p) {
    if (p->lanes == 1) ref_run(p);
    else if (p->m && p->n) blocks_run(p);
}

/* Slice by slice, time step by time step, then their sum, as steps_slices.c does it. */
static void slices_run(const product *whole, const eg__step *step) {
    const size_t slices = step->slices, rows = step->u.gemm.k, size = whole->m * whole->n;
    for (size_t s = 0; s < slices; s++)
        for (size_t t = 0; t < whole->k / rows; t++) {
            const size_t from = rows * s / slices;
            product p = *whole;
            p.k = rows * (s + 1) / slices - from;
            p.a += sizeof(float) * (t * rows + from) * p.a_stride;
            p.b += sizeof(float) * (t * rows + from) * p.b_stride;
            p.c = p.w->scratch + sizeof(float) * s * size;
            p.c_stride = p.n;
            p.add = t > 0;
            product_run(&p);
        }
    const bool dense = whole->c_stride == whole->n;
    for (size_t r = 0; r < (dense ? 1 : whole->m); r++)
        eg__cache_column_sum(whole->w, slices, dense ? size : whole->n,
                             whole->w->scratch + sizeof(float) * r * whole->n, size,
                             whole->c + sizeof(float) * r * whole->c_stride);
}

void eg__cache_step_gemm_tn(const eg__cache_walk *w, const eg__step *step) {
    const eg__operand *o = step->operand;
    const product p = {.w = w,
                       .lanes = eg__cache_lanes(w, EG__OP_gemm_tn_f32),
                       .m = w->count * step->rows,
                       .n = step->u.gemm.n,
                       .k = eg__cache_timed(w, step->u.gemm.k, step->u.gemm.k_timed),
                       .depth = eg__gemm_tn_depth(step->blocks),
                       .a = eg__cache_at(w, &o[0]),
                       .b = eg__cache_at(w, &o[1]),
                       .c = eg__cache_at(w, &o[2]),
                       .a_stride = o[0].stride,
                       .b_stride = o[1].stride,
                       .c_stride = o[2].stride};
    if (step->slices) slices_run(&p, step);
    else product_run(&p);
    if (!step->u.gemm.has_epilogue) return;
    const eg__cache_fused fused = eg__cache_chain(w, step, 3, &step->u.gemm.epilogue, p.m, p.n);
    eg__cache_fused_run(w, &fused);
}
