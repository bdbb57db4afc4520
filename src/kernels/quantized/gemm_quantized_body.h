/* gemm_f16, gemm_bf16, gemm_i8 and gemm_i4 for any vector width: included by gemm_quantized_<isa>.c after its
 * simd header and
 *   MAX_ROWS, MAX_PANELS  of a tile: ROWS x PANELS of C, held in registers while a group runs
 *   TILE_PANELS(rows, n)  panels of the next tile with that many rows, when n panels are left
 *   TILES(X, type)        X(type, rows, panels): every tile to compile
 *
 * A vector of the right side is widened once for all rows of a tile. Where a group ends, its sums are
 * scaled and added to C, which stays in the first cache meanwhile: so neither does a scale cost a
 * product for every weight, nor must a tile hold two sets of sums. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

#include <assert.h>
#include <string.h>

enum {
    PANEL_VECTORS = EG__PANEL / VF_N,
    MAX_VECTORS = MAX_PANELS * PANEL_VECTORS,
    TURNS = 8,         /* of k in one round of the inner loop: a unit of int4, two of int8 */
    DEPTH = 512,       /* rows of B in a block: three panels of them fit into the first cache */
    HEIGHT = 24,       /* rows of A in a block that is copied */
    COPY_STRIDE = 528, /* floats: rows do not fight for the same places of a cache */
    COPY_COLUMNS = 64, /* from so many columns, and more rows than this, a copy pays */
    COPY_FROM = 4,
};
enum { f16 = EG_F16, bf16 = EG_BF16, i8 = EG_I8, i4 = EG_I4 };

/* Keeps an address in one register, and loads through it where they are written. */
#define KEEP(pointer) __asm__("" : "+r"(pointer))

/* What is the same for all tiles of a block: rows `from` to `to` of B. */
typedef struct walk {
    const eg__packed_quantized *b;
    size_t from, to;
    size_t group, at; /* the group where they begin, and the byte of a panel */
    size_t a_stride, c_stride;
    const float *add; /* where C begins, if this is the first block; NULL = with zeros */
    bool first;
} walk;

/* ---- the end of a group: rows x vectors of sums, scaled and added to C */
INLINE float row_sum(const float *x, size_t n) {
    vf sum = vf_zero();
    for (; n >= VF_N; n -= VF_N, x += VF_N) sum = vf_add(sum, vf_load(x));
    return vf_sum(n ? vf_add(sum, vf_load_part(x, n)) : sum);
}

typedef struct group_end {
    const float *a; /* where the group begins */
    size_t n;       /* rows of B in it */
    size_t group, panel;
    bool first; /* C has no sums yet */
} group_end;

/* sum * scale + minus_x * (scale * zero) + total */
INLINE vf finished(const eg__packed_quantized *b, size_t cell, vf sum, vf minus_x, vf total) {
    if (!b->scale) return vf_add(sum, total);
    const vf scale = vf_load(b->scale + cell);
    if (b->zero) total = vf_fma(minus_x, vf_mul(scale, vf_load_i8(b->zero + cell)), total);
    return vf_fma(sum, scale, total);
}
/* The sum of a row of A that zero points are multiplied by. */
INLINE vf minus_sum(const eg__packed_quantized *b, const float *a, size_t n) {
    return b->zero ? vf_set(-row_sum(a, n)) : vf_zero();
}
INLINE size_t cell_of(const eg__packed_quantized *b, const group_end *e, int v) {
    return ((e->panel + (size_t)(v / PANEL_VECTORS)) * b->groups + e->group) * EG__PANEL +
           (size_t)(v % PANEL_VECTORS) * VF_N;
}

/* Out of line, through memory: with every tile of its own it would be most of the code. */
typedef struct sums {
    vf row[MAX_ROWS][MAX_VECTORS];
} sums;
__attribute__((noinline)) static void rows_finish(const walk *w, const group_end *e, int rows,
                                                  int vectors, const sums *s, float *c,
                                                  size_t width) {
    const eg__packed_quantized *b = w->b;
    for (int i = 0; i < rows; i++, c += w->c_stride) {
        const float *a = e->a + (size_t)i * w->a_stride, *from = e->first ? w->add : c;
        const vf minus_x = minus_sum(b, a, e->n);
        for (int v = 0; v < vectors; v++) {
            const size_t cell = cell_of(b, e, v), before = (size_t)v * VF_N;
            if (before + VF_N <= width) {
                const vf total = from ? vf_load(from + before) : vf_zero();
                vf_store(c + before, finished(b, cell, s->row[i][v], minus_x, total));
            } else if (before < width) {
                const size_t lanes = width - before;
                const vf total = from ? vf_load_part(from + before, lanes) : vf_zero();
                vf_store_part(c + before, finished(b, cell, s->row[i][v], minus_x, total), lanes);
            }
        }
    }
}
/* The same for one row whose sums are scaled already. */
__attribute__((noinline)) static void row_finish(const walk *w, int vectors, const sums *s,
                                                 float *c, size_t width) {
    const float *from = w->first ? w->add : c;
    for (int v = 0; v < vectors; v++) {
        const size_t before = (size_t)v * VF_N;
        if (before + VF_N <= width) {
            const vf total = from ? vf_load(from + before) : vf_zero();
            vf_store(c + before, vf_add(s->row[0][v], total));
        } else if (before < width) {
            const size_t lanes = width - before;
            const vf total = from ? vf_load_part(from + before, lanes) : vf_zero();
            vf_store_part(c + before, vf_add(s->row[0][v], total), lanes);
        }
    }
}

/* ---- a tile. type, rows and panels are constants wherever this is inlined; `c` and the walk's `add`
 * begin at the first column of `panel`. Fixed-size arrays, or the accumulators live in memory. */
INLINE void tile(const int type, const int rows, const int panels, const walk *w, const float *a,
                 size_t panel, float *c, size_t width) {
    const int vectors = panels * PANEL_VECTORS, bases = (rows + 2) / 3;
    const int row_bytes = type == i8 ? 16 : type == i4 ? 8 : 32; /* of a panel */
    const int vector_bytes = (type == i8 || type == i4 ? 4 : 2) * VF_N;
    const eg__packed_quantized *b = w->b;
    const size_t stride = w->a_stride * sizeof(float);
    const uint8_t *data[MAX_PANELS];
    UNROLL
    for (int p = 0; p < panels; p++)
        data[p] = b->data + (panel + (size_t)p) * b->panel_bytes + w->at;
    group_end e = {a, 0, w->group, panel, w->first};
    sums all; /* one row has registers for a second set of sums */
    if (rows == 1) {
        UNROLL
        for (int v = 0; v < vectors; v++) all.row[0][v] = vf_zero();
    }
    for (size_t k = w->from; k < w->to; k += e.n) {
        e.n = eg__min(b->end[e.group], w->to) - k;
        /* three rows of A share a base: x86 adds one or two strides in the address itself */
        const float *base[(MAX_ROWS + 2) / 3];
        vf sum[MAX_ROWS][MAX_VECTORS];
        UNROLL
        for (int i = 0; i < bases; i++) base[i] = e.a + 3 * (size_t)i * w->a_stride;
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v++) sum[i][v] = vf_zero();
        }
#define AT(v, bytes) (data[(v) / PANEL_VECTORS] + (bytes) + (v) % PANEL_VECTORS * vector_bytes)
/* Vector v of row t of a round, t a literal; and of row t of a unit, or the next row of halves. */
#define RIGHT(v, t)                                                  \
    (type == f16    ? vf_load_f16(AT(v, (t)*32))                     \
     : type == bf16 ? vf_load_bf16(AT(v, (t)*32))                    \
     : type == i8   ? vf_byte(vi_load(AT(v, (t) / 4 * 64)), (t) % 4) \
                    : vf_nibble(vi_load(AT(v, 0)), t))
#define RIGHT_AT(v, t)                                                              \
    (type == f16    ? vf_load_f16(AT(v, 0))                                         \
     : type == bf16 ? vf_load_bf16(AT(v, 0))                                        \
     : type == i8                                                                   \
         ? vi_to_float(vi_sar(vi_shl_by(vi_load(AT(v, 0)), 24 - 8 * (int)(t)), 24)) \
         : vi_to_float(vi_sar(                                                      \
               vi_shl_by(vi_load(AT(v, 0)), 28 - (int)(t) % 4 * 8 - (int)(t) / 4 * 4), 28)))
#define TURN(t, RIGHT_OF)                                                               \
    do {                                                                                \
        vf right[MAX_VECTORS], left;                                                    \
        UNROLL                                                                          \
        for (int v = 0; v < vectors; v++) right[v] = RIGHT_OF;                          \
        UNROLL                                                                          \
        for (int i = 0; i < rows; i++) {                                                \
            vf_broadcast_row(left, base[i / 3], stride, i % 3, t);                      \
            UNROLL                                                                      \
            for (int v = 0; v < vectors; v++) vf_accumulate(sum[i][v], left, right[v]); \
        }                                                                               \
    } while (0)
#define ADVANCE(turns, bytes)              \
    do {                                   \
        UNROLL                             \
        for (int p = 0; p < panels; p++) { \
            data[p] += (bytes);            \
            KEEP(data[p]);                 \
        }                                  \
        UNROLL                             \
        for (int i = 0; i < bases; i++) {  \
            base[i] += (turns);            \
            KEEP(base[i]);                 \
        }                                  \
    } while (0)
        for (size_t left_over = e.n / TURNS; left_over; left_over--) {
            TURN(0, RIGHT(v, 0));
            TURN(1, RIGHT(v, 1));
            TURN(2, RIGHT(v, 2));
            TURN(3, RIGHT(v, 3));
            TURN(4, RIGHT(v, 4));
            TURN(5, RIGHT(v, 5));
            TURN(6, RIGHT(v, 6));
            TURN(7, RIGHT(v, 7));
            ADVANCE(TURNS, TURNS * row_bytes);
        }
        const size_t unit = type == i8 ? 4 : type == i4 ? 8 : 1;
        for (size_t t = 0, rest = e.n % TURNS; t < rest; t++) {
            TURN(0, RIGHT_AT(v, t % unit));
            /* on to the next unit behind the last row of one, or of the group */
            ADVANCE(1, (t + 1) % unit == 0 || t + 1 == rest ? unit * row_bytes : 0);
        }
#undef AT
#undef RIGHT
#undef RIGHT_AT
#undef TURN
#undef ADVANCE
        if (rows == 1) {
            const vf minus_x = minus_sum(b, e.a, e.n);
            UNROLL
            for (int v = 0; v < vectors; v++)
                all.row[0][v] = finished(b, cell_of(b, &e, v), sum[0][v], minus_x, all.row[0][v]);
        } else {
            UNROLL
            for (int i = 0; i < rows; i++) {
                UNROLL
                for (int v = 0; v < vectors; v++) all.row[i][v] = sum[i][v];
            }
            rows_finish(w, &e, rows, vectors, &all, c, width);
        }
        e.first = false;
        e.a += e.n;
        e.group++;
    }
    if (rows == 1) row_finish(w, vectors, &all, c, width);
}

#define DEFINE_TILE(type, rows, panels)                                        \
    __attribute__((noinline)) static void type##_tile_##rows##_##panels(       \
        const walk *w, const float *a, size_t panel, float *c, size_t width) { \
        tile(type, rows, panels, w, a, panel, c, width);                       \
    }
/* A chain of comparisons, not a table of pointers: an indirect call costs as much as a small tile. */
#define CASE(type, r, p)                              \
    if (rows == r && panels == p) {                   \
        type##_tile_##r##_##p(w, a, panel, c, width); \
        return;                                       \
    }
#define DEFINE_TILES(type)                                                             \
    TILES(DEFINE_TILE, type)                                                           \
    static void type##_tile(size_t rows, size_t panels, const walk *w, const float *a, \
                            size_t panel, float *c, size_t width) {                    \
        TILES(CASE, type)                                                              \
        assert(!"every tile that a product can ask for is in TILES");                  \
    }
typedef void tile_function(size_t rows, size_t panels, const walk *w, const float *a, size_t panel,
                           float *c, size_t width);

/* Rows `row` to `row + m` of C for one block of the depth. */
static void block_run(const eg__gemm_quantized_args *g, const walk *block, const float *a,
                      size_t row, size_t m, tile_function *run) {
    const size_t panels = eg__gemm_panels(g->b.n), parts = eg__ceil_div(m, MAX_ROWS);
    const bool last = block->to == g->b.k;
    for (size_t panel = 0, take; panel < panels; panel += take) {
        const size_t column = panel * EG__PANEL, width = g->b.n - column;
        walk w = *block;
        if (w.add) w.add += column;
        take = TILE_PANELS(eg__ceil_div(m, parts), panels - panel);
        for (size_t part = 0, i = 0; part < parts; part++) {
            const size_t size = m / parts + (part < m % parts);
            run(size, take, &w, a + i * w.a_stride, panel, g->c + (row + i) * g->c_stride + column,
                width);
            i += size;
        }
        const size_t columns = eg__min(take * EG__PANEL, width);
        if (last && g->epilogue)
            g->epilogue->apply(g->epilogue->user, g->c + row * g->c_stride + column, g->c_stride,
                               row, m, column, columns);
    }
}

/* Where a block ends that begins at `from`: with the last group that fits, or within one that does not,
 * at a multiple of DEPTH from where that begins and so at the end of a unit. */
static size_t block_end(const eg__packed_quantized *b, size_t from, size_t group) {
    size_t to = from;
    for (; group < b->groups && b->end[group] - from <= DEPTH; group++) to = b->end[group];
    return to > from ? to : from + DEPTH;
}

/* Past the rows of this block. */
static void walk_advance(walk *w) {
    const eg__packed_quantized *b = w->b;
    const size_t unit = eg__quantized_unit(b->type), unit_bytes = unit == 1 ? EG__PANEL * 2 : 64;
    while (w->from < w->to) {
        const size_t end = eg__min(b->end[w->group], w->to);
        w->at += eg__ceil_div(end - w->from, unit) * unit_bytes;
        w->from = end;
        w->group += end == b->end[w->group];
    }
    w->first = false;
}

static void copy_rows(size_t m, size_t k, const float *a, size_t a_stride, float *to) {
    for (size_t i = 0; i < m; i++) memcpy(to + i * COPY_STRIDE, a + i * a_stride, k * sizeof *to);
}

/* A product without a depth, or of which nothing is left but what C begins with. */
static void start_only(const eg__gemm_quantized_args *g) {
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->b.n; j++) g->c[i * g->c_stride + j] = g->add ? g->add[j] : 0;
    if (g->epilogue) g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->b.n);
}

static void product(const eg__gemm_quantized_args *g, tile_function *run) {
    const eg__packed_quantized *b = &g->b;
    const bool copies = g->m > COPY_FROM && b->n >= COPY_COLUMNS;
    const size_t blocks = eg__ceil_div(g->m, HEIGHT);
    const size_t height = copies ? eg__round_up(eg__ceil_div(g->m, blocks), MAX_ROWS) : g->m;
    _Alignas(64) float copy[HEIGHT * COPY_STRIDE];
    for (size_t row = 0; row < g->m; row += height) {
        const size_t m = eg__min(height, g->m - row);
        walk w = {b, 0, 0, 0, 0, g->a_stride, g->c_stride, g->add, true};
        for (; w.from < b->k; walk_advance(&w)) {
            const float *a = g->a + row * g->a_stride + w.from;
            w.to = copies ? block_end(b, w.from, w.group) : b->k; /* few rows: panels as they lie */
            if (copies) {
                copy_rows(m, w.to - w.from, a, g->a_stride, copy);
                a = copy;
                w.a_stride = COPY_STRIDE;
            }
            block_run(g, &w, a, row, m, run);
        }
    }
}

#define DEFINE_PRODUCT(type)                                       \
    DEFINE_TILES(type)                                             \
    void SIMD(eg__gemm_##type)(const eg__gemm_quantized_args *g) { \
        if (!g->m || !g->b.n) return;                              \
        if (g->b.k) product(g, type##_tile);                       \
        else start_only(g);                                        \
    }
DEFINE_PRODUCT(f16)
DEFINE_PRODUCT(bf16)
DEFINE_PRODUCT(i8)
DEFINE_PRODUCT(i4)
