/* gemm_i8i8 and gemm_i4i8 for any vector width: included by gemm_integer_<isa>.c after its simd header and
 *   MAX_ROWS, MAX_PANELS, TILE_PANELS(rows, n), TILES(X, type)   as for gemm_quantized_body.h
 *   DOT_I8(sum, a, w)     adds to every lane the products of its four bytes of w with those of a
 *   DOT_I4(sum, a, b, w)  the same for eight half bytes: a with the low ones, b with the high ones
 *   BIAS_A, BIAS_W        what DOT_I8 wants added to the bytes of A, and what DOT_I4 adds to those of w,
 *                         for instructions of which one side has no sign
 *
 *   TALL_SUMS             like unit_sums, for tiles of several rows, where there is something better
 *   HELD_ROWS             of a tile whose sums, integer and scaled, fit into registers: products of
 *                         several groups use no taller ones
 *
 * Rows of A become integers once for all columns; their products are summed over a whole group, exactly,
 * then scaled and added up. */
#include "kernels/quantized/integer_rows.h"

#include <assert.h>

enum {
    PANEL_VECTORS = EG__PANEL / VF_N,
    MAX_VECTORS = MAX_PANELS * PANEL_VECTORS,
    LAST_UNITS = 16, /* of a tile: C comes into the first cache while they run */
};
enum { i8 = EG_I8, i4 = EG_I4 };
#ifndef TALL_SUMS
#define TALL_SUMS unit_sums
enum { IN_PARTS = 1 };
#else
enum { IN_PARTS = 0 }; /* it may set the sums instead of adding to them */
#endif

/* ---- tiles */
/* What is the same for all tiles of some rows. */
typedef struct walk {
    const eg__packed_quantized *b;
    eg__quantized_rows a; /* from the first of these rows on */
    size_t c_stride;
    const float *add;
} walk;

/* Finished rows into C. Out of line, through memory: with every tile of its own it would be most of the
 * code. */
typedef struct sums {
    vf row[MAX_ROWS][MAX_VECTORS];
} sums;
__attribute__((noinline)) static void rows_finish(const walk *w, size_t row, int rows, int vectors,
                                                  const sums *s, float *c, size_t width) {
    for (int i = 0; i < rows; i++, c += w->c_stride) {
        const vf scale = vf_set(w->a.scale[row + (size_t)i]);
        for (int v = 0; v < vectors; v++) {
            const size_t before = (size_t)v * VF_N;
            if (before + VF_N <= width) {
                const vf start = w->add ? vf_load(w->add + before) : vf_zero();
                vf_store(c + before, vf_fma(s->row[i][v], scale, start));
            } else if (before < width) {
                const size_t lanes = width - before;
                const vf start = w->add ? vf_load_part(w->add + before, lanes) : vf_zero();
                vf_store_part(c + before, vf_fma(s->row[i][v], scale, start), lanes);
            }
        }
    }
}

/* The same of rows and vectors that are constants and of columns that are all there. */
INLINE void whole_rows_finish(const walk *w, size_t row, const int rows, const int vectors,
                              vf s[MAX_ROWS][MAX_VECTORS], float *c) {
    vf start[MAX_VECTORS];
    UNROLL
    for (int v = 0; v < vectors; v++)
        start[v] = w->add ? vf_load(w->add + (size_t)v * VF_N) : vf_zero();
    UNROLL
    for (int i = 0; i < rows; i++) {
        const vf scale = vf_set(w->a.scale[row + (size_t)i]);
        UNROLL
        for (int v = 0; v < vectors; v++)
            vf_store(c + (size_t)i * w->c_stride + (size_t)v * VF_N,
                     vf_fma(s[i][v], scale, start[v]));
    }
}

/* The products of `units` of a group, unit by unit. */
INLINE void unit_sums(const int type, const int rows, const int vectors, const int8_t *a,
                      size_t stride, const uint8_t *data, size_t panel_bytes, size_t units,
                      vi sum[MAX_ROWS][MAX_VECTORS]) {
    const int unit = type == i8 ? 4 : 8;
    /* three rows to a pointer, which is as far as addresses reach: gcc would hold an offset for each row,
     * more than there are registers */
    const int8_t *left[(MAX_ROWS + 2) / 3];
    UNROLL
    for (int i = 0; i < rows; i += 3) {
        left[i / 3] = a + (size_t)i * stride;
        __asm__("" : "+r"(left[i / 3]));
    }
    for (; units; units--, data += 64) {
        vi word[MAX_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++)
            word[v] = vi_load(data + (size_t)(v / PANEL_VECTORS) * panel_bytes +
                              v % PANEL_VECTORS * VF_N * 4);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const int8_t *at = left[i / 3] + (size_t)(i % 3) * stride;
            const vi first = vi_broadcast(at), second = vi_broadcast(at + unit - 4);
            UNROLL
            for (int v = 0; v < vectors; v++) {
                if (type == i8) DOT_I8(sum[i][v], first, word[v]);
                else DOT_I4(sum[i][v], first, second, word[v]);
            }
        }
        UNROLL
        for (int i = 0; i < rows; i += 3) left[i / 3] += unit;
    }
}

/* B has gone through the first cache since C was last there. */
INLINE void target_prefetch(const walk *w, const int rows, const int vectors, const float *c) {
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < vectors; v += PANEL_VECTORS)
            __builtin_prefetch(c + (size_t)i * w->c_stride + (size_t)v * VF_N, 1);
    }
}

/* type, rows and panels are constants wherever this is inlined; `c` and the walk's `add` begin at the
 * first column of `panel`. */
INLINE void tile(const int type, const int rows, const int panels, const walk *w, size_t row,
                 size_t panel, float *c, size_t width) {
    const int vectors = panels * PANEL_VECTORS, unit = type == i8 ? 4 : 8;
    const eg__packed_quantized *b = w->b;
    /* tall tiles have no registers for a second set of sums */
    const bool held = rows <= HELD_ROWS;
    const size_t groups = held ? b->groups : 1;
    const size_t stride = w->a.depth;
    const int8_t *a = w->a.values + row * stride;
    const uint8_t *data = b->data + panel * b->panel_bytes;
    vf total[MAX_ROWS][MAX_VECTORS];
    if (held) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v++) total[i][v] = vf_zero();
        }
    }
#define CELL(v)                                                                  \
    (((panel + (size_t)((v) / PANEL_VECTORS)) * b->groups + group) * EG__PANEL + \
     (size_t)((v) % PANEL_VECTORS) * VF_N)
    for (size_t group = 0; group < groups; group++) {
        const int32_t *row_sum = w->a.sum + row * b->groups + group;
        vi sum[MAX_ROWS][MAX_VECTORS];
        /* from what a raised side will add too much */
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const vi start = type == i8 && BIAS_A > 0
                                 ? vi_sub(vi_set(0), vi_shl(vi_load(b->sum + CELL(v)), 7))
                                 : vi_set(0);
            UNROLL
            for (int i = 0; i < rows; i++)
                sum[i][v] = type == i4 && BIAS_W > 0
                                ? vi_set(-BIAS_W * row_sum[(size_t)i * b->groups])
                                : start;
        }
        const size_t units =
            eg__ceil_div(b->end[group] - (group ? b->end[group - 1] : 0), (size_t)unit);
        if (rows == MAX_ROWS && IN_PARTS) { /* in two parts, of which the code is the same */
            const size_t most = units - eg__min(units, LAST_UNITS);
            for (int part = 0; part < 2; part++) {
                const size_t at = part ? most : 0;
                TALL_SUMS(type, rows, vectors, a + at * (size_t)unit, stride, data + at * 64,
                          b->panel_bytes, part ? units - most : most, sum);
                if (!part) target_prefetch(w, rows, vectors, c);
            }
        } else if (rows > 1)
            TALL_SUMS(type, rows, vectors, a, stride, data, b->panel_bytes, units, sum);
        else unit_sums(type, rows, vectors, a, stride, data, b->panel_bytes, units, sum);
        a += units * (size_t)unit;
        data += units * 64;
        vf scale[MAX_VECTORS];
        UNROLL
        for (int v = 0; v < vectors; v++) scale[v] = vf_load(b->scale + CELL(v));
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v++) {
                const vf x = vi_to_float(sum[i][v]);
                total[i][v] = held ? vf_fma(x, scale[v], total[i][v]) : vf_mul(x, scale[v]);
            }
        }
        if (b->zero) {
            UNROLL
            for (int v = 0; v < vectors; v++) {
                const vf zero = vf_mul(scale[v], vf_load_i8(b->zero + CELL(v)));
                UNROLL
                for (int i = 0; i < rows; i++)
                    total[i][v] =
                        vf_fma(vf_set(-(float)row_sum[(size_t)i * b->groups]), zero, total[i][v]);
            }
        }
    }
#undef CELL
    if (rows == MAX_ROWS && width >= (size_t)vectors * VF_N)
        whole_rows_finish(w, row, rows, vectors, total, c);
    else {
        sums kept;
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v++) kept.row[i][v] = total[i][v];
        }
        rows_finish(w, row, rows, vectors, &kept, c, width);
    }
}

#define DEFINE_TILE(type, rows, panels)                                    \
    __attribute__((noinline)) static void type##_tile_##rows##_##panels(   \
        const walk *w, size_t row, size_t panel, float *c, size_t width) { \
        tile(type, rows, panels, w, row, panel, c, width);                 \
    }
#define CASE(type, r, p)                                \
    if (rows == r && panels == p) {                     \
        type##_tile_##r##_##p(w, row, panel, c, width); \
        return;                                         \
    }
#define DEFINE_TILES(type)                                                                       \
    TILES(DEFINE_TILE, type)                                                                     \
    static void type##_tile(size_t rows, size_t panels, const walk *w, size_t row, size_t panel, \
                            float *c, size_t width) {                                            \
        TILES(CASE, type)                                                                        \
        assert(!"every tile that a product can ask for is in TILES");                            \
    }
typedef void tile_function(size_t rows, size_t panels, const walk *w, size_t row, size_t panel,
                           float *c, size_t width);

/* All columns of m rows from `row` on, which are integers already. */
static void rows_run(const eg__gemm_quantized_args *g, const walk *all, size_t row, size_t m,
                     tile_function *run) {
    const size_t panels = eg__gemm_panels(g->b.n);
    const size_t parts = eg__ceil_div(m, g->b.groups > 1 ? HELD_ROWS : MAX_ROWS);
    for (size_t panel = 0, take; panel < panels; panel += take) {
        const size_t column = panel * EG__PANEL, width = g->b.n - column;
        walk w = *all;
        if (w.add) w.add += column;
        take = TILE_PANELS(eg__ceil_div(m, parts), panels - panel);
        float *c = g->c + row * g->c_stride + column;
        for (size_t part = 0, i = 0; part < parts; part++) {
            const size_t size = m / parts + (part < m % parts);
            run(size, take, &w, i, panel, c + i * g->c_stride, width);
            i += size;
        }
        if (g->epilogue)
            g->epilogue->apply(g->epilogue->user, c, g->c_stride, row, m, column,
                               eg__min(take * EG__PANEL, width));
    }
}

static bool fits(const eg__packed_quantized *b) {
    for (size_t g = 0, from = 0; g < b->groups; from = b->end[g++])
        if (b->end[g] - from > MAX_GROUP) return false;
    return true;
}

static void product(const eg__gemm_quantized_args *g, tile_function *run, int bias) {
    const size_t blocks = eg__ceil_div(g->m, EG__QUANTIZED_ROWS);
    const size_t height =
        eg__min(eg__round_up(eg__ceil_div(g->m, blocks), MAX_ROWS), EG__QUANTIZED_ROWS);
    const walk w = {&g->b, eg__quantized_rows_at(g), g->c_stride, g->add};
    for (size_t row = 0; row < g->m; row += height) {
        const size_t m = eg__min(height, g->m - row);
        for (size_t i = 0; i < m; i++)
            row_quantize(&g->b, g->a + (row + i) * g->a_stride, &w.a, i, bias,
                         i + 1 < m ? g->a_stride : 0);
        rows_run(g, &w, row, m, run);
    }
}

#define DEFINE_PRODUCT(type, bias)                                     \
    DEFINE_TILES(type)                                                 \
    void SIMD(eg__gemm_##type##i8)(const eg__gemm_quantized_args *g) { \
        if (!g->m || !g->b.n) return;                                  \
        if (fits(&g->b)) product(g, type##_tile, bias);                \
        else eg__gemm_##type##i8_ref(g);                               \
    }
DEFINE_PRODUCT(i8, BIAS_A)
DEFINE_PRODUCT(i4, 0)
