/* gemm_tn_f32 for any vector width: both sides are read row by row as they lie, so that nothing is packed
 * or transposed first. Included by gemm_tn_f32_<isa>.c after its simd header and
 *   TILE_VECTORS   the most vectors of a tile
 *   WIDTHS(X)      X(vectors) for all of these
 *
 * A tile is ROWS x VECTORS of C held in registers while k runs: some neighbours of each row of A times some
 * vectors of each row of B. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

enum { TILE_ROWS = EG__GEMM_TN_ROWS };

/* What is the same for all tiles of a block. */
typedef struct walk {
    size_t depth; /* rows of A and B */
    size_t a_stride, b_stride, c_stride;
    bool add;    /* to what is in C */
    size_t rest; /* columns of the last vector of a partial tile */
} walk;

/* rows, vectors and partial are constants wherever this is inlined. */
INLINE void tile(const int rows, const int vectors, const bool partial, const walk *w,
                 const float *a, const float *b, float *c) {
    vf sum[TILE_ROWS][TILE_VECTORS];
#define LOAD(p, v) (partial && v == vectors - 1 ? vf_load_part(p, w->rest) : vf_load(p))
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < vectors; v++)
            sum[i][v] = w->add ? LOAD(c + (size_t)i * w->c_stride + v * VF_N, v) : vf_zero();
    }
    for (size_t k = 0; k < w->depth; k++, a += w->a_stride, b += w->b_stride) {
        vf held[TILE_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) {
            held[v] = LOAD(b + v * VF_N, v);
            vf_keep(held[v]);
        }
        UNROLL
        for (int i = 0; i < rows; i++) {
            vf passing = vf_broadcast(a + i);
            vf_keep(passing);
            UNROLL
            for (int v = 0; v < vectors; v++) vf_accumulate(sum[i][v], passing, held[v]);
        }
    }
#undef LOAD
    UNROLL
    for (int i = 0; i < rows; i++, c += w->c_stride) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            if (partial && v == vectors - 1) vf_store_part(c + v * VF_N, sum[i][v], w->rest);
            else vf_store(c + v * VF_N, sum[i][v]);
        }
    }
}

/* One function for each width, whole or partial, and within it one loop for each height. */
#define DEFINE_TILES(vectors)             \
    DEFINE_HEIGHTS(vectors, whole, false) \
    DEFINE_HEIGHTS(vectors, partial, true)
#define DEFINE_HEIGHTS(vectors, name, partial)                                  \
    __attribute__((noinline)) static void tiles_##vectors##_##name(             \
        size_t rows, const walk *w, const float *a, const float *b, float *c) { \
        switch (rows) {                                                         \
        case 6: tile(6, vectors, partial, w, a, b, c); break;                   \
        case 5: tile(5, vectors, partial, w, a, b, c); break;                   \
        case 4: tile(4, vectors, partial, w, a, b, c); break;                   \
        case 3: tile(3, vectors, partial, w, a, b, c); break;                   \
        case 2: tile(2, vectors, partial, w, a, b, c); break;                   \
        default: tile(1, vectors, partial, w, a, b, c); break;                  \
        }                                                                       \
    }
WIDTHS(DEFINE_TILES)

INLINE void tile_run(size_t rows, size_t vectors, const walk *w, const float *a, const float *b,
                     float *c) {
#define CASE(v)                                             \
    if (vectors == v) {                                     \
        if (w->rest) tiles_##v##_partial(rows, w, a, b, c); \
        else tiles_##v##_whole(rows, w, a, b, c);           \
        return;                                             \
    }
    WIDTHS(CASE)
#undef CASE
}

/* Part i of n in `count` parts, as equal as possible. */
INLINE size_t part_size(size_t n, size_t count, size_t i) { return n / count + (i < n % count); }

/* A strip of C: `vectors` wide, all rows. */
INLINE void strip(const eg__gemm_tn_f32_args *g, const walk *w, size_t vectors, const float *a,
                  const float *b, float *c) {
    const size_t count = eg__ceil_div(g->m, TILE_ROWS);
    for (size_t i = 0; i < count; i++) {
        const size_t rows = part_size(g->m, count, i);
        tile_run(rows, vectors, w, a, b, c);
        a += rows;
        c += rows * w->c_stride;
    }
}

void SIMD(eg__gemm_tn_f32)(const eg__gemm_tn_f32_args *g) {
    const size_t vectors = eg__ceil_div(g->n, VF_N), count = eg__ceil_div(vectors, TILE_VECTORS);
    const size_t depth = eg__gemm_tn_depth(g->blocks);
    size_t k = 0;
    do {
        walk w = {
            eg__min(depth, g->k - k), g->a_stride, g->b_stride, g->c_stride, k > 0 || g->add, 0};
        const float *a = g->a + k * g->a_stride, *b = g->b + k * g->b_stride;
        for (size_t i = 0, v = 0; i < count; i++) {
            const size_t take = part_size(vectors, count, i);
            if (i + 1 == count) w.rest = g->n % VF_N;
            strip(g, &w, take, a, b + v * VF_N, g->c + v * VF_N);
            v += take;
        }
        k += depth;
    } while (k < g->k);
}
