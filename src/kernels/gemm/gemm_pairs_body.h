/* A product of halves by NEON instructions that multiply them: included by gemm_halves_<isa>.c after simd_neon.h, the types and
 *   GEMM                                   the name of the kernel
 *   right_make(pairs, from, to)            a panel of so many pairs, laid out as right_sums wants it; it does not grow
 *                                          but for one pair of zeros behind an odd number
 *   right_sums(rows, pairs, a, stride, b, sum)   sets sum[rows][4]; rows is a constant; strides in halves
 *
 * A panel is laid out once for all rows of a block, then multiplied by tiles of up to six rows. */
#include "kernels/kernels.h"

enum { MAX_ROWS = 6, DEPTH = 512, PANEL_VECTORS = EG__PANEL / VF_N };

/* What is the same for all tiles of a panel. */
typedef struct walk {
    size_t pairs, a_stride, c_stride, add_stride, width;
    const float *right;
} walk;

/* Finished rows into C. Out of line, through memory: with every tile of its own it would be most of the code. */
typedef struct sums {
    vf row[MAX_ROWS][PANEL_VECTORS];
} sums;
__attribute__((noinline)) static void rows_finish(const walk *w, int rows, const sums *s, float *c,
                                                  const float *add) {
    for (int i = 0; i < rows; i++, c += w->c_stride) {
        for (size_t v = 0, at = 0; at < w->width; v++, at += VF_N) {
            const size_t lanes = eg__min(w->width - at, VF_N);
            vf x = s->row[i][v];
            if (lanes == VF_N) vf_store(c + at, add ? vf_add(x, vf_load(add + at)) : x);
            else {
                if (add) x = vf_add(x, vf_load_part(add + at, lanes));
                vf_store_part(c + at, x, lanes);
            }
        }
        if (add) add += w->add_stride;
    }
}

INLINE void tile(const int rows, const walk *w, const uint16_t *a, float *c, const float *add) {
    sums s;
    right_sums(rows, w->pairs, a, w->a_stride, (const void *)w->right, s.row);
    rows_finish(w, rows, &s, c, add);
}

/* clang-format off */
#define TILES(X) X(6) X(5) X(4) X(3) X(2) X(1)
/* clang-format on */
#define DEFINE_TILE(rows)                                                                         \
    __attribute__((noinline)) static void tile_##rows(const walk *w, const uint16_t *a, float *c, \
                                                      const float *add) {                         \
        tile(rows, w, a, c, add);                                                                 \
    }
TILES(DEFINE_TILE)

/* Rows `row` to `row` + m, of pairs `from` to `end` of k. */
static void block_run(const eg__gemm_halves_args *g, size_t row, size_t m, size_t from,
                      size_t end) {
    const size_t pairs = eg__gemm_pairs(g->k);
    const bool again = from || g->accumulate;
    walk w = {end - from, g->a_stride, g->c_stride, again ? g->c_stride : g->add_stride,
              0,          g->scratch};
    for (size_t column = 0; column < g->n; column += EG__PANEL) {
        const uint16_t *a = g->a + row * g->a_stride + 2 * from;
        float *const first = g->c + row * g->c_stride + column, *c = first;
        const float *add = again ? c : g->add ? g->add + row * g->add_stride + column : NULL;
        w.width = eg__min(g->n - column, EG__PANEL);
        right_make(w.pairs, g->b + 2 * (column * pairs + from * EG__PANEL), (void *)g->scratch);
        for (size_t i = 0, take; i < m; i += take) {
            take = eg__min(m - i, MAX_ROWS);
#define CASE(rows) \
    if (take == rows) tile_##rows(&w, a, c, add);
            TILES(CASE)
#undef CASE
            a += take * g->a_stride;
            c += take * g->c_stride;
            if (add) add += take * w.add_stride;
        }
        if (g->epilogue && end == pairs)
            g->epilogue->apply(g->epilogue->user, first, g->c_stride, row, m, column, w.width);
    }
}

void GEMM(const eg__gemm_halves_args *g) {
    const size_t pairs = eg__gemm_pairs(g->k);
    for (size_t row = 0; row < g->m; row += EG__HALVES_ROWS) {
        const size_t m = eg__min(EG__HALVES_ROWS, g->m - row);
        size_t from = 0;
        do {
            block_run(g, row, m, from, eg__min(from + DEPTH, pairs));
            from += DEPTH;
        } while (from < pairs);
    }
}
