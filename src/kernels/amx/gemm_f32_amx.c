/* gemm_f32 with AMX: four outer products of 16 x 16 accumulate while k runs, as 32 rows x 2 panels or, for the last rows
 * of a product, 16 x 4. */
#include "kernels/amx/amx_kernel.h"

#include <string.h>

#if defined(__aarch64__)
#define TRANSPOSE eg__transpose_f32_neon
#else
#define TRANSPOSE eg__transpose_f32_ref
#endif

enum { SIDE = EG__PANEL, TILES = 4, MAX_GROUPS = 2, STAGE = 2 * SIDE };

/* Like other kernels, long sums are split: `depth` rows of B at a time. */
static size_t depth_of(size_t k, const eg__gemm_blocks *blocks) {
    const size_t parts = eg__ceil_div(k, eg__gemm_blocks_or(blocks).depth);
    return parts > 1 ? eg__ceil_div(k, parts) : k;
}

size_t eg__scratch_gemm_amx(const eg__kernel_shape *s) {
    const size_t floats = STAGE + MAX_GROUPS * SIDE * depth_of(s->k, s->blocks);
    return floats * sizeof(float) + EG__AMX_TOGETHER;
}

/* A tile: `groups` of 16 rows times `panels` of 16 columns. */
typedef struct tile {
    unsigned groups, panels;
    size_t k;
    const float *a; /* [k][groups][16] */
    const float *b;
    size_t panel_stride;
} tile;

/* `groups` and `panels` are constants where this is inlined. */
INLINE void tile_multiply(const tile *t, const unsigned groups, const unsigned panels) {
    const unsigned registers = panels > 2 ? 2 : 4;
    eg__amx_ring a = eg__amx_ring_begin(t->a, t->k * groups, 0, 8), b[TILES];
    for (unsigned p = 0; p < panels; p++)
        b[p] = eg__amx_ring_begin(t->b + p * t->panel_stride, t->k, p * registers, registers);
    for (size_t k = 0; k < t->k; k++) {
        unsigned x[TILES];
        for (unsigned p = 0; p < panels; p++) x[p] = eg__amx_ring_next(&b[p], true);
        for (unsigned g = 0; g < groups; g++) {
            const unsigned y = eg__amx_ring_next(&a, false);
            for (unsigned p = 0; p < panels; p++)
                eg__amx_fma32(eg__amx_fma_operand(
                    (eg__amx_fma){.y = y, .x = x[p], .z = g * panels + p, .skip_z = k == 0}));
        }
    }
}

static void multiply(const tile *t) {
    if (t->groups == 2 && t->panels == 2) tile_multiply(t, 2, 2);
    else if (t->groups == 1 && t->panels == 4) tile_multiply(t, 1, 4);
    else tile_multiply(t, t->groups, t->panels);
}

static void tile_finish(const tile *t, const eg__amx_out *o) {
    for (size_t i = 0; i < o->rows; i++)
        for (unsigned p = 0; p < t->panels; p++) {
            const unsigned accumulator = (unsigned)(i / SIDE) * t->panels + p;
            float *to = eg__amx_out_begin(o, i, p * SIDE);
            eg__amx_stz(eg__amx_memory_operand(
                (eg__amx_memory){.at = to, .to = (unsigned)(i % SIDE) * TILES + accumulator}));
            eg__amx_out_end(o, i, p * SIDE, to);
        }
}

/* A transposed: what pads its rows is multiplied, too, but never stored. */
static void rows_pack(const float *a, size_t a_stride, size_t rows, unsigned groups, size_t k,
                      float *to) {
    if (rows < groups * SIDE) memset(to, 0, k * groups * SIDE * sizeof *to);
    TRANSPOSE(&(eg__move_f32_args){rows, k, a, a_stride, to, groups * SIDE});
}

/* All columns of up to 32 rows, for `k` rows of B from `from` on. */
static void band(const eg__gemm_f32_args *g, size_t row, size_t rows, size_t from, size_t k,
                 float *stage) {
    const unsigned groups = rows > SIDE ? 2 : 1;
    const size_t panels = eg__gemm_panels(g->n), most = TILES / groups;
    float *packed = stage + STAGE;
    rows_pack(g->a + row * g->a_stride + from, g->a_stride, rows, groups, k, packed);
    for (size_t panel = 0; panel < panels; panel += most) {
        const size_t column = panel * SIDE, stride = EG__PANEL * g->k;
        const tile t = {groups, (unsigned)eg__min(most, panels - panel),  k,
                        packed, g->b + panel * stride + from * EG__PANEL, stride};
        const eg__amx_out out = eg__amx_out_at(
            g, row, rows, column, eg__min(t.panels * SIDE, g->n - column), from == 0, stage);
        multiply(&t);
        tile_finish(&t, &out);
        if (from + k == g->k) eg__amx_epilogue(g, &out, row, column);
    }
}

void eg__gemm_f32_amx(const eg__gemm_f32_args *g) {
    if (!g->m || !g->n) return;
    if (!g->k) { /* Z has no product: nothing but what is added */
        eg__gemm_f32_ref(g);
        return;
    }
    const size_t depth = depth_of(g->k, g->blocks);
    float *stage = eg__amx_aligned(g->scratch);
    for (size_t row = 0; row < g->m; row += MAX_GROUPS * SIDE)
        for (size_t k = 0; k < g->k; k += depth)
            band(g, row, eg__min(MAX_GROUPS * SIDE, g->m - row), k, eg__min(depth, g->k - k),
                 stage);
}
