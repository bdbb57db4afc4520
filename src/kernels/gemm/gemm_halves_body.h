/* gemm_f16f16 and gemm_bf16bf16 for any vector width, by products of f32: included by gemm_halves_<isa>.c after its simd
 * header and
 *   WIDEN_ROWS(type)   the kernel that widens a row of A
 *
 * A block of A and a block of B are widened to scratch memory, where they stay in the second cache while gemm_f32
 * multiplies them: a conversion serves all rows, or all columns, of the block. */
#include "kernels/kernels.h"

enum { f16 = EG_F16, bf16 = EG_BF16 };

/* `pairs` rows of a panel to twice as many rows of f32. */
INLINE void widen_panel(const int type, size_t pairs, const uint16_t *from, float *to) {
    for (; pairs; pairs--, from += 2 * EG__PANEL, to += 2 * EG__PANEL)
        for (int v = 0; v < EG__PANEL; v += VF_N) {
            const vi words = vi_load(from + 2 * v);
            vf_store(to + v, type == f16 ? vf_low_f16(words) : vf_low_bf16(words));
            vf_store(to + EG__PANEL + v, type == f16 ? vf_high_f16(words) : vf_high_bf16(words));
        }
}
static void widen_f16(size_t pairs, const uint16_t *from, float *to) {
    widen_panel(f16, pairs, from, to);
}
static void widen_bf16(size_t pairs, const uint16_t *from, float *to) {
    widen_panel(bf16, pairs, from, to);
}
typedef void widen_function(size_t pairs, const uint16_t *from, float *to);

/* Rows `row` and on of C, for the columns of A and rows of B from `k` to `end`. */
static void block_run(const eg__gemm_halves_args *g, size_t row, size_t m, size_t k, size_t end,
                      eg__f16_to_f32_function *widen_row, widen_function *widen) {
    float *const a = g->scratch, *const b = a + m * EG__HALVES_STRIDE;
    const size_t depth = end - k, pairs = eg__gemm_pairs(depth), panels = eg__gemm_panels(g->n);
    const float *add = k || g->accumulate ? g->c : g->add;
    const size_t add_stride = k || g->accumulate ? g->c_stride : g->add_stride;
    for (size_t i = 0; i < m; i++) {
        widen_row(depth, g->a + (row + i) * g->a_stride + k, a + i * EG__HALVES_STRIDE);
        if (depth % 2) a[i * EG__HALVES_STRIDE + depth] = 0; /* times the zeros of the panel */
    }
    for (size_t panel = 0, take; panel < panels; panel += take) {
        const size_t column = panel * EG__PANEL;
        take = eg__min(EG__HALVES_PANELS, panels - panel);
        for (size_t p = 0; p < take; p++)
            widen(pairs, g->b + ((panel + p) * eg__gemm_pairs(g->k) + k / 2) * EG__PANEL * 2,
                  b + p * pairs * 2 * EG__PANEL);
        const size_t columns = eg__min(take * EG__PANEL, g->n - column);
        float *c = g->c + row * g->c_stride + column;
        SIMD(eg__gemm_f32)
        (&(eg__gemm_f32_args){.m = m,
                              .n = columns,
                              .k = 2 * pairs,
                              .a = a,
                              .a_stride = EG__HALVES_STRIDE,
                              .b = b,
                              .c = c,
                              .c_stride = g->c_stride,
                              .add = add ? add + row * add_stride + column : NULL,
                              .add_stride = add_stride,
                              .blocks = &(eg__gemm_blocks){EG__HALVES_ROWS, EG__HALVES_DEPTH}});
        if (end == g->k && g->epilogue)
            g->epilogue->apply(g->epilogue->user, c, g->c_stride, row, m, column, columns);
    }
}

static void product(const eg__gemm_halves_args *g, eg__f16_to_f32_function *widen_row,
                    widen_function *widen) {
    if (!g->n) return;
    for (size_t row = 0, m; row < g->m; row += m) {
        m = eg__min(EG__HALVES_ROWS, g->m - row);
        m += g->m - row - m == 1; /* gemm_f32 sums a single row in another order */
        size_t k = 0;
        do {
            const size_t end = eg__min(k + EG__HALVES_DEPTH, g->k);
            block_run(g, row, m, k, end, widen_row, widen);
            k = end;
        } while (k < g->k);
    }
}

void SIMD(eg__gemm_f16f16)(const eg__gemm_halves_args *g) {
    product(g, WIDEN_ROWS(f16), widen_f16);
}
void SIMD(eg__gemm_bf16bf16)(const eg__gemm_halves_args *g) {
    product(g, WIDEN_ROWS(bf16), widen_bf16);
}
