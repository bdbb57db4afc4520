/* gemm_f16f16 and gemm_bf16bf16 with AMX: one instruction multiplies 32 rows by 32 columns. Panels hold pairs of rows of B,
 * which its lanes cannot take apart, so two panels at a time are unpacked for many rows of A. */
#include "kernels/amx/amx_kernel.h"

#include <string.h>

enum {
    SIDE = 32,      /* rows and columns of a tile */
    ROWS = 256,     /* of A, for which B is unpacked once: an eighth of what is multiplied */
    MAX_DEPTH = 512 /* of both; even */
};

/* Even parts of k: pairs stay together. */
static size_t depth_of(size_t k) {
    const size_t parts = eg__max(eg__ceil_div(k, MAX_DEPTH), 1);
    return eg__round_up(eg__ceil_div(k, parts), 2);
}
static size_t height_of(size_t m) { return eg__min(eg__round_up(m, SIDE), ROWS); }

size_t eg__scratch_halves_amx(const eg__kernel_shape *s) {
    const size_t halves = (height_of(s->m) + SIDE) * depth_of(s->k);
    return EG__AMX_TOGETHER + EG__PANEL * sizeof(float) + halves * sizeof(uint16_t) +
           EG__AMX_TOGETHER;
}

/* Rows of A as [tile][k][32]; what pads them is multiplied, too, but never stored. */
static void rows_pack(const uint16_t *a, size_t a_stride, size_t rows, size_t k, uint16_t *to) {
    for (size_t row = 0; row < rows; row += SIDE, to += k * SIDE) {
        const size_t some = eg__min(SIDE, rows - row);
        if (some < SIDE) memset(to, 0, k * SIDE * sizeof *to);
        for (size_t i = 0; i < some; i++)
            for (size_t j = 0; j < k; j++) to[j * SIDE + i] = a[(row + i) * a_stride + j];
    }
}

/* k rows of two panels as [k][32], or of one, and nothing. */
static void panels_unpack(const uint16_t *b, size_t panel_stride, size_t panels, size_t k,
                          uint16_t *to) {
    if (panels < 2) memset(to, 0, k * SIDE * sizeof *to);
    for (size_t p = 0; p < panels; p++, b += panel_stride)
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < EG__PANEL; j++)
                to[i * SIDE + p * EG__PANEL + j] = b[i / 2 * SIDE + 2 * j + i % 2];
}

/* `brain` is a constant where this is inlined. */
INLINE void tile_multiply(const bool brain, const uint16_t *a, const uint16_t *b, size_t k) {
    enum { ZERO_ALL = 3 };
    eg__amx_ring x = eg__amx_ring_begin(b, k, 0, 8), y = eg__amx_ring_begin(a, k, 0, 8);
    if (brain)
        eg__amx_matfp(
            eg__amx_float_operand((eg__amx_float){.type = EG__AMX_BF16_F32, .x_value = ZERO_ALL}));
    for (size_t i = 0; i < k; i++) {
        const unsigned right = eg__amx_ring_next(&x, true), left = eg__amx_ring_next(&y, false);
        if (brain)
            eg__amx_matfp(eg__amx_float_operand(
                (eg__amx_float){.x = right, .y = left, .type = EG__AMX_BF16_F32}));
        else
            eg__amx_fma16(eg__amx_fma_operand(
                (eg__amx_fma){.x = right, .y = left, .z_float = true, .skip_z = i == 0}));
    }
}

/* Even columns of a row are in one row of Z, odd ones in the next. */
static void tile_finish(const eg__amx_out *o) {
    for (size_t i = 0; i < o->rows; i++)
        for (size_t column = 0; column < o->columns; column += EG__PANEL) {
            float *to = eg__amx_out_begin(o, i, column);
            eg__amx_stzi(eg__amx_memory_operand(
                (eg__amx_memory){.at = to, .to = (unsigned)(2 * i + column / EG__PANEL)}));
            eg__amx_out_end(o, i, column, to);
        }
}

/* Some rows of A and k rows of B, from `from` on; `out` says what becomes of their product. */
INLINE void block_multiply(const bool brain, const eg__gemm_halves_args *g,
                           const eg__gemm_f32_args *out, size_t row, size_t rows, size_t from,
                           size_t k) {
    const size_t panels = eg__gemm_panels(g->n), stride = 2 * EG__PANEL * eg__gemm_pairs(g->k);
    float *stage = (float *)g->scratch;
    uint16_t *right = eg__amx_aligned(stage + EG__PANEL), *left = right + SIDE * k;
    rows_pack(g->a + row * g->a_stride + from, g->a_stride, rows, k, left);
    for (size_t panel = 0; panel < panels; panel += 2) {
        const size_t column = panel * EG__PANEL, columns = eg__min(SIDE, g->n - column);
        panels_unpack(g->b + panel * stride + from * EG__PANEL, stride, eg__min(2, panels - panel),
                      k, right);
        for (size_t i = 0; i < rows; i += SIDE) {
            const eg__amx_out tile = eg__amx_out_at(out, row + i, eg__min(SIDE, rows - i), column,
                                                    columns, from == 0, stage);
            tile_multiply(brain, left + i * k, right, k);
            tile_finish(&tile);
            if (from + k == g->k) eg__amx_epilogue(out, &tile, row + i, column);
        }
    }
}

INLINE void product(const bool brain, const eg__gemm_halves_args *g) {
    const eg__gemm_f32_args out = {.n = g->n,
                                   .c = g->c,
                                   .c_stride = g->c_stride,
                                   .accumulate = g->accumulate,
                                   .epilogue = g->epilogue,
                                   .add = g->add,
                                   .add_stride = g->add_stride};
    const size_t depth = depth_of(g->k), height = height_of(g->m);
    for (size_t row = 0; row < g->m; row += height)
        for (size_t k = 0; k < g->k; k += depth)
            block_multiply(brain, g, &out, row, eg__min(height, g->m - row), k,
                           eg__min(depth, g->k - k));
}

/* Without depth there is no product, only what is added. */
void eg__gemm_f16f16_amx(const eg__gemm_halves_args *g) {
    if (!g->k) eg__gemm_f16f16_ref(g);
    else if (g->n) product(false, g);
}
void eg__gemm_bf16bf16_amx(const eg__gemm_halves_args *g) {
    if (!g->k) eg__gemm_bf16bf16_ref(g);
    else if (g->n) product(true, g);
}
