/* gemm_f32 for any vector width: included by gemm_f32_<isa>.c after its simd header and the list
 * of its tiles.
 *
 * A tile is ROWS x VECTORS of C held in registers while k runs. The includer defines
 *   MAX_ROWS              the most rows of a tile
 *   TILE_WIDTH(rows)      vectors of a tile with that many rows, at most
 *   WIDTH_UNIT            vectors that the width of every tile but the last is a multiple of; with
 *                         PANEL_VECTORS all tiles start where a panel does
 *   TILES(X)              X(rows, vectors, start): every tile to compile; `start` is the vector of
 *                         its panel where it begins, for widths that do not divide a panel
 *   is_narrow(n)          true for widths that narrow_product(args) is better at
 *   row_limit(m, n)       how many rows a tile may have in a product of m rows and n columns
 * and, where an element is a pair of halves, GEMM, the name, SINGLE_ROWS, if TILES has one row, and
 * COPIES_A(m, n, k), whether rows of A are copied. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

#include <assert.h>
#include <string.h>

#ifndef GEMM
#define GEMM        SIMD(eg__gemm_f32)
#define SINGLE_ROWS false
#define COPIES_A    eg__gemm_copies_a
#endif

enum {
    PANEL_VECTORS = EG__PANEL / VF_N,
    MAX_HELD = 8,
    STEP = 4,  /* turns of k in one round of the inner loop */
    LINE = 64, /* bytes fetched ahead in a round */
    COLD_BYTES = 131072,
    EPILOGUE_BYTES = 24576, /* the epilogue gets finished columns while they are in L1 */
};

/* Keeps an address in one register: the compiler would otherwise hold one per row. */
#define KEEP(pointer) __asm__("" : "+r"(pointer))

/* What is the same for all tiles of a product. */
typedef struct walk {
    size_t k;            /* depth of this block */
    size_t a_stride;     /* between rows of A */
    size_t panel_stride; /* floats between panels of B */
    size_t c_stride;
    size_t add_stride; /* between rows of what is added */
    bool cold;         /* C is too large for L1 */
    const float *next; /* the rows of A after this block, if they are dense; else NULL */
} walk;

/* rows, vectors and start are constants wherever this is inlined. `add` may be c, or NULL. `ahead` is
 * prefetched, a line per round. Fixed-size arrays, or the accumulators live in memory. */
INLINE void tile(const int rows, const int vectors, const int start, const walk *w, const float *a,
                 const float *b, float *c, const float *add, size_t width, const char *ahead) {
    vf sum[MAX_ROWS][MAX_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < vectors; v++) sum[i][v] = vf_zero();
    }
    if (w->cold) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v += LINE / (int)sizeof(vf))
                __builtin_prefetch(c + (size_t)i * w->c_stride + v * VF_N, 0, 2);
        }
    }
    /* Three rows of A share a base: x86 adds one or two strides in the address itself. */
    const int bases = (rows + 2) / 3, panels = (start + vectors - 1) / PANEL_VECTORS + 1;
    const size_t stride = w->a_stride * sizeof(float);
    const float *base[(MAX_ROWS + 2) / 3], *panel[MAX_VECTORS];
    UNROLL
    for (int i = 0; i < bases; i++) base[i] = a + 3 * (size_t)i * w->a_stride;
    UNROLL
    for (int p = 0; p < panels; p++) panel[p] = b + (size_t)p * w->panel_stride;
/* The shorter side of the tile is held in registers, the other one is streamed. */
#define RIGHT(v, t) \
    vf_load(panel[(v + start) / PANEL_VECTORS] + (t)*EG__PANEL + (v + start) % PANEL_VECTORS * VF_N)
#define TURN(t)                                                                               \
    do {                                                                                      \
        vf held[MAX_HELD], passing;                                                           \
        if (rows < vectors) {                                                                 \
            UNROLL                                                                            \
            for (int i = 0; i < rows; i++)                                                    \
                vf_broadcast_row(held[i], base[i / 3], stride, i % 3, t);                     \
            UNROLL                                                                            \
            for (int i = 0; i < rows; i++) vf_keep(held[i]);                                  \
            UNROLL                                                                            \
            for (int v = 0; v < vectors; v++) {                                               \
                passing = RIGHT(v, t);                                                        \
                vf_keep(passing);                                                             \
                UNROLL                                                                        \
                for (int i = 0; i < rows; i++) vf_accumulate(sum[i][v], held[i], passing);    \
            }                                                                                 \
        } else {                                                                              \
            UNROLL                                                                            \
            for (int v = 0; v < vectors; v++) held[v] = RIGHT(v, t);                          \
            UNROLL                                                                            \
            for (int v = 0; v < vectors; v++) vf_keep(held[v]);                               \
            UNROLL                                                                            \
            for (int i = 0; i < rows; i++) {                                                  \
                vf_broadcast_row(passing, base[i / 3], stride, i % 3, t);                     \
                UNROLL                                                                        \
                for (int v = 0; v < vectors; v++) vf_accumulate(sum[i][v], passing, held[v]); \
            }                                                                                 \
        }                                                                                     \
    } while (0)
#define ADVANCE(turns)                     \
    do {                                   \
        UNROLL                             \
        for (int p = 0; p < panels; p++) { \
            panel[p] += (turns)*EG__PANEL; \
            KEEP(panel[p]);                \
        }                                  \
        UNROLL                             \
        for (int i = 0; i < bases; i++) {  \
            base[i] += (turns);            \
            KEEP(base[i]);                 \
        }                                  \
    } while (0)
    for (size_t left_over = w->k / STEP; left_over; left_over--) {
        __builtin_prefetch(ahead);
        ahead += LINE;
        TURN(0);
        TURN(1);
        TURN(2);
        TURN(3);
        ADVANCE(STEP);
    }
    for (size_t left_over = w->k % STEP; left_over; left_over--) {
        TURN(0);
        ADVANCE(1);
    }
#undef RIGHT
#undef TURN
#undef ADVANCE
    const bool adds = add != NULL;
    if (!adds) add = c; /* a fixed base address */
    if (width >= (size_t)vectors * VF_N) {
        UNROLL
        for (int i = 0; i < rows; i++, c += w->c_stride, add += w->add_stride) {
            UNROLL
            for (int v = 0; v < vectors; v++) {
                if (adds) sum[i][v] = vf_add(sum[i][v], vf_load(add + v * VF_N));
                vf_store(c + v * VF_N, sum[i][v]);
            }
        }
        return;
    }
    const size_t rest = width - (size_t)(vectors - 1) * VF_N; /* only the last vector is partial */
    UNROLL
    for (int i = 0; i < rows; i++, c += w->c_stride, add += w->add_stride) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            if (v + 1 < vectors) {
                if (adds) sum[i][v] = vf_add(sum[i][v], vf_load(add + v * VF_N));
                vf_store(c + v * VF_N, sum[i][v]);
            } else {
                if (adds) sum[i][v] = vf_add(sum[i][v], vf_load_part(add + v * VF_N, rest));
                vf_store_part(c + v * VF_N, sum[i][v], rest);
            }
        }
    }
}

#define DEFINE_TILE(rows, vectors, start)                                                        \
    __attribute__((noinline)) static void tile_##rows##_##vectors##_##start(                     \
        const walk *w, const float *a, const float *b, float *c, const float *add, size_t width, \
        const char *ahead) {                                                                     \
        tile(rows, vectors, start, w, a, b, c, add, width, ahead);                               \
    }
TILES(DEFINE_TILE)

/* A chain of comparisons, not a table of pointers: an indirect call costs as much as a small tile. */
INLINE void tile_run(size_t rows, size_t vectors, size_t start, const walk *w, const float *a,
                     const float *b, float *c, const float *add, size_t width, const char *ahead) {
#define CASE(r, v, s)                                        \
    if (rows == r && vectors == v && start == s) {           \
        tile_##r##_##v##_##s(w, a, b, c, add, width, ahead); \
        return;                                              \
    }
    TILES(CASE)
#undef CASE
    assert(!"every tile that a split can ask for is in TILES");
}
/* Splits n into as few and as equal parts as possible: `large` of size+1, the rest of size. */
typedef struct split {
    size_t count, size, large;
} split;
INLINE split split_evenly(size_t n, size_t limit) {
    if (n <= limit) return (split){1, n, 0}; /* no division: it costs as much as a small tile */
    size_t count = eg__ceil_div(n, limit);
    return (split){count, n / count, n % count};
}
INLINE size_t split_size(const split *s, size_t part) { return s->size + (part < s->large); }

/* The largest of the fewest equal parts of n within the limit. */
INLINE size_t part_size(size_t n, size_t limit) {
    split s = split_evenly(n, limit);
    return split_size(&s, 0);
}

/* Collects finished columns and passes them to the epilogue in larger pieces. */
typedef struct handover {
    const eg__gemm_f32_args *g;
    size_t row, rows, done;
} handover;
INLINE void handover_advance(handover *h, size_t columns_done) {
    const eg__epilogue *epilogue = h->g->epilogue;
    size_t columns = columns_done - h->done, n = h->g->n;
    if (!epilogue) return;
    if (columns_done < n && columns * h->rows * sizeof(float) < EPILOGUE_BYTES) return;
    epilogue->apply(epilogue->user, h->g->c + h->row * h->g->c_stride + h->done, h->g->c_stride,
                    h->row, h->rows, h->done, columns);
    h->done = columns_done;
}

/* What tile `i` of a strip prefetches, `left` strips before the last: a quarter of one of the next panels or, in the last two
 * strips of a block, a half of as many rows of the next block of A. */
INLINE const char *next_part(const float *panel, const walk *w, size_t i, size_t left) {
    const size_t part = w->k / STEP * EG__PANEL;
    if (w->next && left < 2) return (const char *)(w->next + i * MAX_ROWS * w->k + left * part);
    return (const char *)(panel + i / STEP * w->panel_stride + i % STEP * part);
}

/* m rows of C from `row` on, for w->k columns of A and as many rows of B; `add` belongs to all of C. */
static void block_run(const eg__gemm_f32_args *g, const walk *w, size_t row, size_t m,
                      const float *a_block, const float *b_block, const float *add, bool last) {
    const split rows = split_evenly(m, row_limit(m, g->n));
    const size_t vectors = eg__ceil_div(g->n, VF_N);
    const split columns = split_evenly(eg__ceil_div(vectors, WIDTH_UNIT),
                                       TILE_WIDTH(split_size(&rows, 0)) / WIDTH_UNIT);
    handover finished = {g, row, m, 0};
    for (size_t part = 0, v = 0; part < columns.count; part++) {
        const size_t take = eg__min(split_size(&columns, part) * WIDTH_UNIT, vectors - v);
        const size_t column = v * VF_N;
        const float *a = a_block, *b = b_block + v / PANEL_VECTORS * w->panel_stride;
        const float *next = b_block + (v + take) / PANEL_VECTORS * w->panel_stride;
        float *c = g->c + row * g->c_stride + column;
        const float *more = add ? add + row * w->add_stride + column : NULL;
        for (size_t i = 0; i < rows.count; i++) {
            const size_t size = split_size(&rows, i);
            tile_run(size, take, v % PANEL_VECTORS, w, a, b, c, more, g->n - column,
                     next_part(next, w, i, columns.count - 1 - part));
            a += size * w->a_stride;
            c += size * g->c_stride;
            if (more) more += size * w->add_stride;
        }
        v += take;
        if (last) handover_advance(&finished, eg__min(v * VF_N, g->n));
    }
}

/* Packs a block of A: its rows share pages, and do not conflict in cache sets as rows a power of
 * two apart do. */
static void copy_rows(size_t m, size_t k, const float *a, size_t a_stride, float *to,
                      size_t to_stride) {
    for (size_t i = 0; i < m; i++) memcpy(to + i * to_stride, a + i * a_stride, k * sizeof *to);
}

/* What the first depth block adds to: C, `add` or nothing. */
INLINE const float *first_add(const eg__gemm_f32_args *g) { return g->accumulate ? g->c : g->add; }

static void product(const eg__gemm_f32_args *g) {
    const bool copies = COPIES_A(g->m, g->n, g->k);
    const eg__gemm_blocks blocks = eg__gemm_blocks_or(g->blocks);
    const size_t depth = eg__round_up(part_size(g->k, blocks.depth), STEP);
    const size_t band = eg__gemm_band(g->m, g->n, g->k, &blocks);
    const size_t height = eg__round_up(part_size(g->m, band), MAX_ROWS);
    size_t k = 0;
    do {
        const float *add = k ? g->c : first_add(g);
        walk w = {eg__min(depth, g->k - k),
                  g->a_stride,
                  EG__PANEL * g->k,
                  g->c_stride,
                  k || g->accumulate ? g->c_stride : g->add_stride,
                  g->m * g->n * sizeof(float) > COLD_BYTES,
                  NULL};
        for (size_t row = 0, m; row < g->m; row += m) {
            m = eg__min(height, g->m - row);
            m += g->m - row - m == 1; /* no tile has a single row */
            const float *a = g->a + row * g->a_stride + k;
            if (copies) {
                w.a_stride = blocks.depth + EG__PANEL;
                copy_rows(m, w.k, a, g->a_stride, g->scratch, w.a_stride);
                a = g->scratch;
            } else w.next = g->a_stride == w.k && row + m < g->m ? a + m * w.k : NULL;
            block_run(g, &w, row, m, a, g->b + k * EG__PANEL, add, k + depth >= g->k);
        }
        k += depth;
    } while (k < g->k);
}

/* A fast path for a product that is one tile: at these sizes the general loop's overhead is
 * measurable. */
INLINE bool product_is_tile(const eg__gemm_f32_args *g) {
    return g->m <= MAX_ROWS && g->n <= TILE_WIDTH(MAX_ROWS) * VF_N &&
           g->k <= eg__gemm_blocks_or(g->blocks).depth;
}
static void product_tile(const eg__gemm_f32_args *g) {
    const walk w = {g->k,
                    g->a_stride,
                    EG__PANEL * g->k,
                    g->c_stride,
                    g->accumulate ? g->c_stride : g->add_stride,
                    false,
                    NULL};
    tile_run(g->m, eg__ceil_div(g->n, VF_N), 0, &w, g->a, g->b, g->c, first_add(g), g->n,
             (const char *)g->b);
    if (g->epilogue) g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->n);
}

void GEMM(const eg__gemm_f32_args *g) {
    if (!g->m || !g->n) return;
    if (g->m == 1 && !SINGLE_ROWS) {
        eg__gemv_f32_args row = {g->n, g->k, g->a, g->b, g->c, first_add(g)};
        SIMD(eg__gemv_f32)(&row);
        if (g->epilogue) g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, 1, 0, g->n);
    } else if (is_narrow(g->n)) narrow_product(g);
    else if (product_is_tile(g)) product_tile(g);
    else product(g);
}
