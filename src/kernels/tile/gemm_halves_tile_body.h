/* gemm_bf16bf16 with Intel's AMX: included after tile.h and TILE_ROW(name), the name of a function. A tile of B is sixteen rows of
 * a panel, sixteen pairs of k, and rows of A are read as they lie. Only what is left of rows and of k is copied.
 *
 * What is added to a product is loaded into the sums first, and tiles begin at the same pairs however k is cut: so a sum has the same bits. */
#define MULTIPLY TILE_BF16
#include "kernels/tile/tile_block.h"

enum {
    ROWS = 128, /* of A, for which the end of a panel is padded once */
    STRIPS = ROWS / EG__TILE_ROWS,
    DEPTH = 512, /* pairs: two panels and 128 rows are 320 KiB, and stay in L2 */
    SHORT_STRIDE = DEPTH * WORD + EG__TILE_BYTES, /* of copied rows: not a power of two */
};
_Static_assert((3 + STRIPS) * EG__TILE_SIZE + EG__TILE_ROWS * SHORT_STRIDE ==
                   EG__TILE_HALVES_SCRATCH,
               "the scratch memory is what eg__scratch_halves_tile says");

typedef struct work {
    const eg__gemm_halves_args *g;
    size_t row, rows, from, pairs; /* of this block */
    bool first, last;              /* of the blocks of k */
    strip a[STRIPS];
    char *stage, *panel_tails, *row_tails, *short_rows; /* in scratch memory */
} work;

/* Rows of A: those of the last strip are copied where they are fewer than a tile has. */
static void rows_prepare(work *w) {
    const eg__gemm_halves_args *g = w->g;
    const size_t steps = w->pairs / EG__TILE_ROWS, left = w->pairs % EG__TILE_ROWS;
    const size_t stride = g->a_stride * sizeof *g->a;
    for (size_t s = 0; s * EG__TILE_ROWS < w->rows; s++) {
        const size_t rows = eg__min(EG__TILE_ROWS, w->rows - s * EG__TILE_ROWS);
        const char *a =
            (const char *)(g->a + (w->row + s * EG__TILE_ROWS) * g->a_stride + 2 * w->from);
        strip *to = &w->a[s];
        *to = (strip){a, stride, EG__TILE_BYTES, NULL};
        if (left)
            to->tail = tile_pad(a + steps * EG__TILE_BYTES, stride, rows, left * WORD,
                                w->row_tails + s * EG__TILE_SIZE);
        if (rows == EG__TILE_ROWS) continue;
        /* rows behind the last are whatever is there: a row of sums depends on no other row of A, and these are not stored */
        for (size_t i = 0; i < rows; i++)
            memcpy(w->short_rows + i * SHORT_STRIDE, a + i * stride, steps * EG__TILE_BYTES);
        to->at = w->short_rows, to->stride = SHORT_STRIDE;
    }
}

static void sum_load(size_t sum, const void *at, size_t stride) {
    switch (sum) {
#define CASE(i) \
    case i: TILE_LOAD(i, at, stride); break;
        SUMS(CASE)
#undef CASE
    }
}

/* What one tile of sums begins with: nothing, what is added, or what the blocks of k before have left in C. */
static void sum_begin(const work *w, size_t sum, size_t row, size_t rows, size_t column,
                      size_t columns) {
    const eg__gemm_halves_args *g = w->g;
    const bool again = !w->first || g->accumulate;
    const float *from = again ? g->c : g->add;
    const size_t stride = (again ? g->c_stride : g->add_stride) * sizeof *from;
    if (!from) {
        sum_zero(sum);
        return;
    }
    from += row * (again ? g->c_stride : g->add_stride) + column;
    if (rows == EG__TILE_ROWS && columns == EG__PANEL) sum_load(sum, from, stride);
    else
        sum_load(sum, tile_pad((const char *)from, stride, rows, columns * sizeof *from, w->stage),
                 EG__TILE_BYTES);
}
static void sum_end(const work *w, size_t sum, size_t row, size_t rows, size_t column,
                    size_t columns) {
    const size_t stride = w->g->c_stride;
    float *c = w->g->c + row * stride + column;
    if (rows == EG__TILE_ROWS && columns == EG__PANEL) {
        sum_store(sum, c, stride * sizeof *c);
        return;
    }
    sum_store(sum, w->stage, EG__TILE_BYTES);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * stride, w->stage + i * EG__TILE_BYTES, columns * sizeof *c);
}

typedef void sum_function(const work *w, size_t sum, size_t row, size_t rows, size_t column,
                          size_t columns);
/* Each tile of sums from `strip_` and `column` on. */
static void sums_visit(const work *w, size_t strip_, size_t strips, size_t column, size_t panels,
                       sum_function *visit) {
    for (size_t i = 0; i < strips; i++)
        for (size_t j = 0; j < panels; j++) {
            const size_t row = (strip_ + i) * EG__TILE_ROWS, from = column + j * EG__PANEL;
            visit(w, SIDE * i + j, w->row + row, eg__min(EG__TILE_ROWS, w->rows - row), from,
                  eg__min(EG__PANEL, w->g->n - from));
        }
}

static void block_run(work *w) {
    const eg__gemm_halves_args *g = w->g;
    const size_t strips = eg__ceil_div(w->rows, EG__TILE_ROWS), panels = eg__gemm_panels(g->n);
    const size_t panel_halves = 2 * EG__PANEL * eg__gemm_pairs(g->k);
    rows_prepare(w);
    for (size_t panel = 0, wide; panel < panels; panel += wide) {
        const size_t column = panel * EG__PANEL;
        wide = eg__min(SIDE, panels - panel);
        strip b[SIDE];
        for (size_t j = 0; j < wide; j++)
            b[j] = panel_strip(g->b + (panel + j) * panel_halves + 2 * EG__PANEL * w->from,
                               w->pairs, w->panel_tails + j * EG__TILE_SIZE);
        for (size_t s = 0, high; s < strips; s += high) {
            high = eg__min(SIDE, strips - s);
            sums_visit(w, s, high, column, wide, sum_begin);
            sums_add(high, wide, w->a + s, b, w->pairs / EG__TILE_ROWS);
            sums_visit(w, s, high, column, wide, sum_end);
        }
        if (g->epilogue && w->last)
            g->epilogue->apply(g->epilogue->user, g->c + w->row * g->c_stride + column, g->c_stride,
                               w->row, w->rows, column, eg__min(wide * EG__PANEL, g->n - column));
    }
}

void TILE_ROW(eg__gemm_bf16bf16)(const eg__gemm_halves_args *g) {
    const size_t pairs = eg__gemm_pairs(g->k);
    work w = {.g = g, .stage = (char *)g->scratch};
    w.panel_tails = w.stage + EG__TILE_SIZE;
    w.row_tails = w.panel_tails + SIDE * EG__TILE_SIZE;
    w.short_rows = w.row_tails + STRIPS * EG__TILE_SIZE;
    for (w.row = 0; w.row < g->m; w.row += ROWS) {
        w.rows = eg__min(ROWS, g->m - w.row);
        w.from = 0;
        do { /* without depth, too: what is added becomes C */
            w.pairs = eg__min(DEPTH, pairs - w.from);
            w.first = w.from == 0, w.last = w.from + w.pairs == pairs;
            block_run(&w);
            w.from += w.pairs;
        } while (w.from < pairs);
    }
}
