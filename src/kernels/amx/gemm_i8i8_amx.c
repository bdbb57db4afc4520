/* gemm_i8i8 with AMX: 64 rows of A, made int8 and transposed, times the 16 columns of a panel, one row of B at a time.
 * A unit of a panel, 4 rows x 16 columns, is what `matint` takes as Y; so a tile is the transposed one. */
#include "kernels/amx/amx_kernel.h"

#include <string.h>

enum {
    ROWS = 64,          /* of A in a tile, as X has lanes */
    UNIT = 4,           /* rows of B in a register of Y */
    CELLS = ROWS * 16,  /* of a tile, as Z has words */
    MAX_GROUP = 131072, /* sums of a longer one may not fit into 32 bits */
};

size_t eg__scratch_integers_amx(const eg__kernel_shape *s) {
    const size_t depth = s->k + s->groups * (UNIT - 1) + 64;
    const size_t tiles = CELLS * (sizeof(float) + sizeof(int32_t));
    return EG__AMX_TOGETHER + tiles + ROWS * depth + /* transposed */
           eg__quantized_scratch(ROWS, s->k, s->groups, s->type);
}

typedef struct block {
    const eg__packed_quantized *b;
    eg__quantized_rows rows;
    int32_t *sums; /* of a group: [4 * column + row % 4][row / 4], as Z has them */
    float *totals; /* the same over groups, scaled */
    int8_t *a;     /* [depth][ROWS] */
} block;

static void rows_pack(const block *s, size_t m, const float *a, size_t a_stride) {
    for (size_t i = 0; i < m; i++) eg__quantize_row(s->b, a + i * a_stride, &s->rows, i);
    if (m < ROWS) memset(s->a, 0, ROWS * s->rows.depth);
    for (size_t i = 0; i < m; i++) {
        const int8_t *row = s->rows.values + i * s->rows.depth;
        for (size_t k = 0; k < s->rows.depth; k++) s->a[k * ROWS + i] = row[k];
    }
}

/* The sums of a group: `units` of the panel, and as many times four rows of the transposed A. */
static void group_multiply(const block *s, const uint8_t *data, const int8_t *a, size_t units) {
    const eg__amx_integer product = {
        .alu = EG__AMX_BYTES, .type = EG__AMX_I8_I32, .x_signed = true, .y_signed = true};
    enum { ZERO_ALL = 3 };
    eg__amx_integer clear = product;
    clear.value = ZERO_ALL;
    eg__amx_matint(eg__amx_integer_operand(clear));
    eg__amx_ring y = eg__amx_ring_begin(data, units, 0, 8);
    eg__amx_ring x = eg__amx_ring_begin(a, UNIT * units, 0, 8);
    for (size_t u = 0; u < units; u++) {
        const unsigned unit = eg__amx_ring_next(&y, false);
        for (unsigned k = 0; k < UNIT; k++) {
            eg__amx_integer turn = product;
            turn.y = unit + k;
            turn.x = eg__amx_ring_next(&x, true);
            eg__amx_matint(eg__amx_integer_operand(turn));
        }
    }
    for (unsigned row = 0; row < 64; row += 2)
        eg__amx_stz(eg__amx_memory_operand(
            (eg__amx_memory){.at = s->sums + row * 16, .to = row, .pair = true}));
}

/* totals += scale * (sums - zero * sum of the row) */
static void group_add(const block *s, size_t cell, size_t group) {
    const eg__packed_quantized *b = s->b;
    for (size_t z = 0; z < 64; z++) {
        const float scale = b->scale[cell + z / 4], offset = eg__quantized_offset(b, cell + z / 4);
        for (size_t i = 0; i < 16; i++) {
            float *total = &s->totals[z * 16 + i];
            *total += (float)s->sums[z * 16 + i] * scale;
            if (b->zero) *total += (float)s->rows.sum[(4 * i + z % 4) * b->groups + group] * offset;
        }
    }
}

static void panel_multiply(const block *s, const eg__gemm_quantized_args *g, size_t panel,
                           size_t row, size_t m) {
    const eg__packed_quantized *b = s->b;
    const uint8_t *data = b->data + panel * b->panel_bytes;
    const int8_t *a = s->a;
    memset(s->totals, 0, CELLS * sizeof *s->totals);
    for (size_t group = 0; group < b->groups; group++) {
        const size_t units = eg__quantized_units(b, group);
        group_multiply(s, data, a, units);
        group_add(s, (panel * b->groups + group) * EG__PANEL, group);
        data += units * EG__AMX_REGISTER;
        a += units * UNIT * ROWS;
    }
    const size_t column = panel * EG__PANEL, width = eg__min(EG__PANEL, b->n - column);
    float *c = g->c + row * g->c_stride + column;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < width; j++)
            c[i * g->c_stride + j] = s->totals[(4 * j + i % 4) * 16 + i / 4] * s->rows.scale[i] +
                                     (g->add ? g->add[column + j] : 0);
    if (g->epilogue) g->epilogue->apply(g->epilogue->user, c, g->c_stride, row, m, column, width);
}

static bool fits(const eg__packed_quantized *b) {
    for (size_t g = 0, from = 0; g < b->groups; from = b->end[g++])
        if (b->end[g] - from > MAX_GROUP) return false;
    return true;
}

void eg__gemm_i8i8_amx(const eg__gemm_quantized_args *g) {
    if (!g->m || !g->b.n) return;
    if (!fits(&g->b)) {
        eg__gemm_i8i8_ref(g);
        return;
    }
    block s = {.b = &g->b, .sums = eg__amx_aligned(g->scratch)};
    s.totals = (float *)(s.sums + CELLS);
    s.a = (int8_t *)(s.totals + CELLS);
    eg__gemm_quantized_args rows = *g;
    rows.m = ROWS;
    rows.scratch = s.a + ROWS * eg__quantized_depth(&g->b);
    s.rows = eg__quantized_rows_at(&rows);
    for (size_t row = 0; row < g->m; row += ROWS) {
        const size_t m = eg__min(ROWS, g->m - row);
        rows_pack(&s, m, g->a + row * g->a_stride, g->a_stride);
        for (size_t panel = 0; panel < eg__gemm_panels(g->b.n); panel++)
            panel_multiply(&s, g, panel, row, m);
    }
}
