/* The accesses of inputs in file layout: products with their rows, gathers of rows. Whole lines are
 * counted, like the vectors of the widest kernels. */
#include "profile/cache/cache_steps.h"

enum { LINE = 64, TOGETHER = 4 /* columns of C that a kernel computes at once from few rows */ };

/* `bytes` from `at` on, line by line. */
static void bytes_touch(const eg__cache_walk *w, uint64_t at, size_t bytes, bool write) {
    for (size_t i = 0; i < bytes; i += LINE)
        eg__cache_access(w->cache, at + i, (unsigned)eg__min(LINE, bytes - i), write);
}

typedef struct infile_product {
    const eg__cache_walk *w;
    const eg__step_gemm *g;
    size_t m;
    uint64_t a, b, c, add;
    size_t a_stride, c_stride, add_stride;
} infile_product;

static void result_touch(const infile_product *p, size_t row, size_t column, size_t columns) {
    if (p->add)
        eg__cache_read(p->w, p->add + sizeof(float) * (row * p->add_stride + column), columns);
    eg__cache_write(p->w, p->c + sizeof(float) * (row * p->c_stride + column), columns);
}

/* Rows of the left side with W in place. Integer rows count as the bytes they become. */
static void few_run(const infile_product *p, size_t column, size_t columns) {
    const size_t bytes = p->g->k * (p->g->infile.integers ? 1 : sizeof(float));
    const size_t rows_at_once = 4;
    for (size_t j = 0; j < columns; j += TOGETHER) {
        const size_t n = eg__min(TOGETHER, columns - j);
        for (size_t i = 0; i < p->m; i += rows_at_once) {
            const size_t m = eg__min(rows_at_once, p->m - i);
            bytes_touch(p->w, p->b + (column + j) * p->g->infile.row_bytes,
                        n * p->g->infile.row_bytes, false);
            for (size_t r = i; r < i + m; r++) {
                const uint64_t row = p->g->infile.integers ? p->w->scratch + r * bytes
                                                           : p->a + sizeof(float) * r * p->a_stride;
                bytes_touch(p->w, row, bytes, false);
                result_touch(p, r, column + j, n);
            }
        }
    }
}

/* A chunk of W into scratch memory, then a product of packed matrices. */
static void many_run(const infile_product *p, size_t column, size_t columns) {
    const eg__step_gemm *g = p->g;
    const bool integers = g->infile.integers;
    const uint64_t panels = p->w->scratch + (integers ? eg__infile_rows_bytes(p->m, g->k) : 0);
    bytes_touch(p->w, p->b + column * g->infile.row_bytes, columns * g->infile.row_bytes, false);
    bytes_touch(p->w, panels, columns * g->k * (integers ? 1 : sizeof(float)), true);
    const eg__cache_product product = {
        .m = p->m,
        .n = columns,
        .k = integers ? eg__ceil_div(g->k, 4) : g->k, /* four bytes are a float */
        .a = integers ? p->w->scratch : p->a,
        .b = panels,
        .c = p->c + sizeof(float) * column,
        .a_stride = integers ? eg__infile_lines(g->k) / 4 : p->a_stride,
        .c_stride = p->c_stride};
    eg__cache_product_run(p->w, eg__cache_lanes(p->w, EG__OP_gemm_f32), &product);
}

static void quantize_run(const infile_product *p) {
    for (size_t r = 0; r < p->m; r++) {
        bytes_touch(p->w, p->a + sizeof(float) * r * p->a_stride, sizeof(float) * p->g->k, false);
        bytes_touch(p->w, p->w->scratch + r * p->g->k, p->g->k, true);
    }
}

void eg__cache_step_gemm_infile(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_gemm *g = &step->u.gemm;
    const eg__operand *o = step->operand, *sum = &o[g->add ? g->sum : 2];
    const eg__fused_program *program = g->add ? &g->rest : &g->epilogue;
    const infile_product p = {.w = w,
                              .g = g,
                              .m = g->chunk ? step->rows : w->count * step->rows,
                              .a = eg__cache_at(w, &o[0]),
                              .b = eg__cache_at(w, &o[1]) + g->infile.skip,
                              .c = eg__cache_at(w, sum),
                              .add = g->add ? eg__cache_at(w, &o[g->add]) : 0,
                              .a_stride = o[0].stride,
                              .c_stride = sum->stride,
                              .add_stride = g->add ? o[g->add].stride : 0};
    if (g->infile.integers) quantize_run(&p);
    for (size_t column = 0; column < g->n; column += EG__STORED_CHUNK) {
        const size_t columns = eg__min(EG__STORED_CHUNK, g->n - column);
        if (p.m <= eg__infile_few(g->infile.format, g->infile.integers))
            few_run(&p, column, columns);
        else many_run(&p, column, columns);
    }
    if (!g->has_epilogue || !program->length) return;
    const eg__cache_fused fused = eg__cache_chain(w, step, 3, program, p.m, g->n);
    eg__cache_fused_run(w, &fused);
}

void eg__cache_step_gather_infile(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_gather *g = &step->u.gather;
    const eg__operand *o = step->operand;
    const uint64_t x = eg__cache_at(w, &o[0]) + g->first * g->row_bytes,
                   index = eg__cache_at(w, &o[1]);
    for (size_t r = 0; r < w->count * step->rows; r++) {
        const int64_t at = eg__cache_index(w, &o[1], r * o[1].stride, g->limit);
        eg__cache_read(w, index + sizeof(float) * r * o[1].stride, 1);
        if (at >= 0 && (uint64_t)at < g->limit)
            bytes_touch(w, x + (uint64_t)at * g->row_bytes, g->row_bytes, false);
        bytes_touch(w, eg__cache_at(w, &o[2]) + sizeof(float) * r * o[2].stride,
                    sizeof(float) * step->columns, true);
    }
}

void eg__cache_step_widen(const eg__cache_walk *w, const eg__step *step) {
    bytes_touch(w, eg__cache_at(w, &step->operand[0]), step->u.widen.from.layout.bytes, false);
    bytes_touch(w, eg__cache_at(w, &step->operand[1]), sizeof(float) * step->columns, true);
}
