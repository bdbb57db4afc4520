/* gemm_i8i8 with Intel's AMX: included after tile.h, TILE_ROW(name), the name of a function, and
 *   ROW_QUANTIZE(b, x, to, row, ahead)   makes a row of A integers, as eg__quantize_row does
 *   OTHERWISE(args)                      the kernel for several groups
 *
 * A tile of B is sixteen units of a panel, 64 rows of B; rows of A lie as the units do. Sums are exact. */
#define MULTIPLY TILE_I8
#include "kernels/tile/tile_block.h"

#include <math.h>

enum {
    LONGEST = 1 << 17, /* 127 * 128 * that is the largest sum below 2^31 */
    STAGE_STRIDE = SIDE * EG__TILE_BYTES,
};

typedef struct work {
    const eg__gemm_quantized_args *g;
    eg__quantized_rows rows;
    size_t row, count; /* of this block */
    char *stage, *panel_tails;
} work;

/* The sums of a row become what C is to hold: the same bits as with AVX-512. */
static void row_finish(const work *w, size_t i, const int32_t *sums, size_t column,
                       size_t columns) {
    const eg__gemm_quantized_args *g = w->g;
    const float *scale = g->b.scale + column, *add = g->add ? g->add + column : NULL;
    const int8_t *zero = g->b.zero ? g->b.zero + column : NULL;
    const float row_scale = w->rows.scale[i], less = -(float)w->rows.sum[i];
    float *c = g->c + (w->row + i) * g->c_stride + column;
    float total[SIDE * EG__PANEL];
    for (size_t j = 0; j < columns; j++) total[j] = (float)sums[j] * scale[j];
    if (zero)
        for (size_t j = 0; j < columns; j++)
            total[j] = fmaf(less, scale[j] * (float)zero[j], total[j]);
    if (add)
        for (size_t j = 0; j < columns; j++) c[j] = fmaf(total[j], row_scale, add[j]);
    else
        for (size_t j = 0; j < columns; j++) c[j] = fmaf(total[j], row_scale, 0.0f);
}

static void panels_multiply(const work *w, size_t panel, size_t wide) {
    const eg__packed_quantized *b = &w->g->b;
    const size_t units = eg__quantized_units(b, 0), column = panel * EG__PANEL;
    const size_t columns = eg__min(wide * EG__PANEL, b->n - column), depth = w->rows.depth;
    strip right[SIDE];
    for (size_t j = 0; j < wide; j++)
        right[j] = panel_strip(b->data + (panel + j) * b->panel_bytes, units,
                               w->panel_tails + j * EG__TILE_SIZE);
    const size_t strips = eg__ceil_div(w->count, EG__TILE_ROWS);
    for (size_t s = 0, high; s < strips; s += high) {
        high = eg__min(SIDE, strips - s);
        /* what lies behind a row and behind the last row is multiplied by zeros, or is not stored */
        const char *a = (const char *)w->rows.values + s * EG__TILE_ROWS * depth;
        const strip left[SIDE] = {{a, depth, EG__TILE_BYTES, NULL},
                                  {a + EG__TILE_ROWS * depth, depth, EG__TILE_BYTES, NULL}};
        for (size_t sum = 0; sum < SIDE * SIDE; sum++) sum_zero(sum);
        sums_add(high, wide, left, right, units / EG__TILE_ROWS);
        for (size_t i = 0; i < high; i++)
            for (size_t j = 0; j < wide; j++)
                sum_store(SIDE * i + j,
                          w->stage + i * EG__TILE_ROWS * STAGE_STRIDE + j * EG__TILE_BYTES,
                          STAGE_STRIDE);
        const size_t end = eg__min((s + high) * EG__TILE_ROWS, w->count);
        for (size_t i = s * EG__TILE_ROWS; i < end; i++)
            row_finish(w, i, (const void *)(w->stage + (i - s * EG__TILE_ROWS) * STAGE_STRIDE),
                       column, columns);
    }
    const eg__gemm_quantized_args *g = w->g;
    if (g->epilogue)
        g->epilogue->apply(g->epilogue->user, g->c + w->row * g->c_stride + column, g->c_stride,
                           w->row, w->count, column, columns);
}

/* Of several groups each would end with a pass over the sums, which takes longer than the products: vectors keep theirs in
 * registers. */
void TILE_ROW(eg__gemm_i8i8)(const eg__gemm_quantized_args *g) {
    if (!g->m || !g->b.n) return;
    if (g->b.groups != 1 || g->b.k > LONGEST) {
        OTHERWISE(g);
        return;
    }
    work w = {.g = g, .stage = g->scratch};
    w.panel_tails = w.stage + SIDE * SIDE * EG__TILE_SIZE;
    eg__gemm_quantized_args whole = *g; /* tiles: strips of A have all their rows */
    whole.m = eg__round_up(g->m, EG__TILE_ROWS);
    whole.scratch = w.panel_tails + SIDE * EG__TILE_SIZE;
    w.rows = eg__quantized_rows_at(&whole);
    for (w.row = 0; w.row < g->m; w.row += w.count) {
        w.count = eg__min(EG__QUANTIZED_ROWS, g->m - w.row);
        for (size_t i = 0; i < w.count; i++)
            ROW_QUANTIZE(&g->b, g->a + (w.row + i) * g->a_stride, &w.rows, i,
                         i + 1 < w.count ? g->a_stride : 0);
        const size_t panels = eg__gemm_panels(g->b.n);
        for (size_t panel = 0; panel < panels; panel += SIDE)
            panels_multiply(&w, panel, eg__min(SIDE, panels - panel));
    }
}
