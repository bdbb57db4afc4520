/* The accesses of products with quantized weights: tiles and panels as gemm_quantized_body.h cuts them. Copies of the
 * left side, which stay in the first cache, are left out, and integer rows count as the floats they were. */
#include "profile/cache/cache_steps.h"

/* as in gemm_quantized_avx512.c; other kernels have narrower vectors and the same lines */
enum { ROWS = 8, PANELS = 3, PANELS_ONE = 8, LINE_FLOATS = 16 };

typedef struct quantized_product {
    const eg__cache_walk *w;
    const eg__step_gemm *g;
    size_t m;
    uint64_t a, b, c, add;
    size_t a_stride, c_stride;
} quantized_product;

/* Scales, zero points and C where a group ends. */
static void group_run(const quantized_product *p, size_t row, size_t rows, size_t panel,
                      size_t panels, size_t group) {
    const eg__quantized_layout *at = &p->g->quantized.layout;
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < panels; v++) {
            const size_t column = (panel + v) * EG__PANEL;
            const size_t width = eg__min(EG__PANEL, p->g->n - column);
            const uint64_t cell = ((panel + v) * p->g->quantized.groups + group) * EG__PANEL;
            const uint64_t c = p->c + sizeof(float) * ((row + r) * p->c_stride + column);
            if (at->zero) eg__cache_read(p->w, p->b + at->zero + cell, EG__PANEL / sizeof(float));
            if (eg__quantized_unit(p->g->quantized.type) > 1)
                eg__cache_read(p->w, p->b + at->scale + sizeof(float) * cell, EG__PANEL);
            if (group) eg__cache_read(p->w, c, width);
            else if (p->add) eg__cache_read(p->w, p->add + sizeof(float) * column, width);
            eg__cache_write(p->w, c, width);
        }
}

static void tile_run(const quantized_product *p, size_t row, size_t rows, size_t panel,
                     size_t panels) {
    const eg__step_gemm *g = p->g;
    const size_t unit = eg__quantized_unit(g->quantized.type), groups = g->quantized.groups;
    const size_t lines = g->quantized.layout.panel_bytes / 64;
    const size_t per_line = unit == 1 ? 2 : unit; /* rows of B */
    size_t group = 0;
    for (size_t line = 0; line < lines; line++) {
        for (size_t v = 0; v < panels; v++)
            eg__cache_read(p->w, p->b + (panel + v) * g->quantized.layout.panel_bytes + line * 64,
                           LINE_FLOATS);
        for (size_t i = 0; i < per_line && line * per_line + i < g->k; i++)
            for (size_t r = 0; r < rows; r++)
                eg__cache_read(
                    p->w, p->a + sizeof(float) * ((row + r) * p->a_stride + line * per_line + i),
                    1);
        if ((line + 1) * groups / lines > group) group_run(p, row, rows, panel, panels, group++);
    }
}

void eg__cache_step_gemm_quantized(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_gemm *g = &step->u.gemm;
    const eg__operand *o = step->operand;
    const size_t m = w->count * step->rows, all = eg__gemm_panels(g->n);
    const bool adds = g->add && (m == 1 || !o[g->add].stride);
    const eg__fused_program *program = adds ? &g->rest : &g->epilogue;
    const quantized_product p = {.w = w,
                                 .g = g,
                                 .m = m,
                                 .a = eg__cache_at(w, &o[0]),
                                 .b = eg__cache_at(w, &o[1]),
                                 .c = eg__cache_at(w, &o[adds ? g->sum : 2]),
                                 .add = adds ? eg__cache_at(w, &o[g->add]) : 0,
                                 .a_stride = o[0].stride,
                                 .c_stride = o[adds ? g->sum : 2].stride};
    const size_t most = m == 1 ? PANELS_ONE : PANELS;
    for (size_t panel = 0; panel < all; panel += most)
        for (size_t row = 0; row < m; row += ROWS)
            tile_run(&p, row, eg__min(ROWS, m - row), panel, eg__min(most, all - panel));
    if (!g->has_epilogue || !program->length) return;
    const eg__cache_fused fused = eg__cache_chain(w, step, 3, program, m, g->n);
    eg__cache_fused_run(w, &fused);
}
