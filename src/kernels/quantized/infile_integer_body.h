/* infile_q8i8 and infile_q4i8 for any vector width: included by infile_integer_<isa>.c after its simd header and
 *   RAISED_8, RAISED_4    what the numbers of blocks have been raised by when they meet those of A, for
 *                         instructions of which one side has no sign
 *   number, sum           vectors: 32 bytes of a block, and the sum of dot products of such
 *   block_load(format, p)   the numbers of a block as bytes, in order, raised
 *   block_store(to, x)    32 bytes of them
 *   block_scale(p)        the f16 that a block begins with
 *   begin, block_begin(format, a)   what sums begin with, lane by lane, for these 32 bytes of A
 *   begin_with(start)     the same for all lanes together
 *   block_add(format, sum, x, a, begin, scale)   sum + scale * (begin + dot product of 32 bytes)
 *   sum_zero(), sum_all(sum)
 *   DOT(format, sum, a, w)  adds to every lane the products of its four bytes of w with the four at `a`
 *   MAX_ROWS, MAX_PANELS, TILES(X, format)   tiles for many rows; X(format, rows, panels)
 *   ROW_QUADS             if there is one, a header with a faster way for one row and blocks of int4
 *
 * Rows of A become integers once for all columns. Few rows meet W as it lies; for many a chunk of it becomes
 * panels of bytes, units of 4 numbers of 16 columns, and a scale for each block and column. */
#include "kernels/kernels.h"
#include "kernels/simd/lanes.h"
#include "kernels/rows/unroll.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    PANEL_VECTORS = EG__PANEL / VF_N,
    MAX_VECTORS = MAX_PANELS * PANEL_VECTORS,
    OUTS = 4, /* rows of W at a time, for few rows */
    ROWS = 4, /* and of A */
    AHEAD =
        4096, /* bytes to fetch ahead of the next rows: what comes while memory takes its time */
    SLICE = 1024, /* bytes of a row that are turned at a time */
};
enum { q8 = EG__INFILE_Q8_0, q4 = EG__INFILE_Q4_0 };
INLINE size_t bytes_of(const int format) { /* of a block */
    return eg__infile_traits_of((eg__infile_format)format)->block_bytes;
}

/* ---- rows as integers: the same ones as eg__infile_quantize makes */
static void block_quantize(const float *x, int raised, int8_t *out, float *scale, int32_t *start) {
    vi most = vi_set(0), all = vi_set(0);
    UNROLL
    for (int i = 0; i < EG__BLOCK; i += VF_N)
        most = vi_max(most, vf_bits(vf_abs(vf_load(x + i)))); /* NaN is above infinity */
    const int32_t bits = lanes_largest(most);
    float value;
    memcpy(&value, &bits, sizeof value);
    const bool finite = value <= FLT_MAX, tiny = value < 0x1p-100f;
    *scale = !finite ? NAN : tiny ? 0 : value / 127;
    if (!finite || tiny) { /* C is NaN, or 0, whatever the integers are */
        memset(out, 0, EG__BLOCK);
        *start = 0;
        return;
    }
    const vf inverse = vf_set(127 / value);
    UNROLL
    for (int i = 0; i < EG__BLOCK; i += VF_N) {
        const vi q = vf_round(vf_mul(vf_load(x + i), inverse));
        all = vi_add(all, q);
        vi_store_bytes(out + i, q);
    }
    *start = -raised * lanes_sum(all);
}

static eg__infile_rows rows_quantize(const eg__infile_args *g, int raised) {
    const eg__infile_rows rows = eg__infile_rows_at(g->scratch, g->m, g->k);
    for (size_t i = 0; i < g->m; i++)
        for (size_t b = 0; b < rows.blocks; b++)
            block_quantize(g->a + i * g->a_stride + b * EG__BLOCK, raised,
                           rows.values + i * rows.depth + b * EG__BLOCK,
                           &rows.scale[i * rows.blocks + b], &rows.start[i * rows.blocks + b]);
    return rows;
}

#ifdef ROW_QUADS
#include ROW_QUADS
#endif

/* ---- few rows. format, rows and outs are constants wherever this is inlined; an element is the same sum
 * whatever is computed beside it. */
INLINE void dots(const int format, const int rows, const int outs, const eg__infile_args *g,
                 const eg__infile_rows *left, size_t row, size_t column) {
#ifdef ROW_QUADS
    if (format == q4 && rows == 1) {
        row_quads(outs, g, left, row, column);
        return;
    }
#endif
    const size_t block_bytes = bytes_of(format);
    const size_t bytes = left->blocks * block_bytes;
    const uint8_t *w = g->w + column * bytes;
    const int8_t *a = left->values + row * left->depth;
    const float *scale = left->scale + row * left->blocks;
    sum s[ROWS][OUTS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int o = 0; o < outs; o++) s[r][o] = sum_zero();
    }
    const uint8_t *ahead = w + (size_t)outs * bytes + AHEAD;
    for (size_t b = 0; b < left->blocks; b++, w += block_bytes, a += EG__BLOCK) {
        UNROLL
        for (size_t line = 0; line < (size_t)outs * block_bytes; line += 64)
            __builtin_prefetch(ahead + line, 0, 3);
        ahead += (size_t)outs * block_bytes;
        begin first[ROWS];
        UNROLL
        for (int r = 0; r < rows; r++)
            first[r] = rows == 1 ? begin_with(left->start[row * left->blocks + b])
                                 : block_begin(format, a + (size_t)r * left->depth);
        UNROLL
        for (int o = 0; o < outs; o++) {
            const uint8_t *block = w + (size_t)o * bytes;
            const number x = block_load(format, block);
            const float own = block_scale(block);
            UNROLL
            for (int r = 0; r < rows; r++) {
                const size_t at = (size_t)r * left->blocks + b;
                s[r][o] = block_add(format, s[r][o], x, a + (size_t)r * left->depth, first[r],
                                    own * scale[at]);
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float *c = g->c + (row + (size_t)r) * g->c_stride + column;
        const float *add = g->add ? g->add + (row + (size_t)r) * g->add_stride + column : NULL;
        for (int o = 0; o < outs; o++) c[o] = add ? sum_all(s[r][o]) + add[o] : sum_all(s[r][o]);
    }
}

#define DEFINE_DOTS(format, rows, outs)                                                     \
    __attribute__((noinline)) static void format##_dots_##rows##_##outs(                    \
        const eg__infile_args *g, const eg__infile_rows *left, size_t row, size_t column) { \
        dots(format, rows, outs, g, left, row, column);                                     \
    }
/* clang-format off */
#define BOTH(format, rows) DEFINE_DOTS(format, rows, 4) DEFINE_DOTS(format, rows, 1)
#define PAIR(format, rows) {format##_dots_##rows##_1, format##_dots_##rows##_4}
#define DEFINE_ALL_DOTS(format)                                    \
    BOTH(format, 1) BOTH(format, 2) BOTH(format, 3) BOTH(format, 4)      \
    static dots_function *const format##_dots[ROWS][2] = {         \
        PAIR(format, 1), PAIR(format, 2), PAIR(format, 3), PAIR(format, 4)};
/* clang-format on */
typedef void dots_function(const eg__infile_args *g, const eg__infile_rows *left, size_t row,
                           size_t column);

static void few(const eg__infile_args *g, const eg__infile_rows *left, size_t from, size_t columns,
                dots_function *const by_rows[ROWS][2]) {
    const size_t parts = eg__ceil_div(g->m, ROWS);
    for (size_t j = 0, outs; j < columns; j += outs) {
        outs = columns - j >= OUTS ? OUTS : 1;
        for (size_t part = 0, row = 0; part < parts; part++) {
            const size_t rows = g->m / parts + (part < g->m % parts);
            by_rows[rows - 1][outs == OUTS](g, left, row, from + j);
            row += rows;
        }
    }
}

/* ---- many rows: panels of bytes */
typedef struct panels {
    uint8_t *data; /* [panel][k / 4][16][4] */
    float *scale;  /* [panel][block][16] */
} panels;
typedef void unpack_function(const uint8_t *w, size_t blocks, uint8_t *to);

INLINE void blocks_unpack(const int format, const uint8_t *w, size_t blocks, uint8_t *to) {
    for (; blocks; blocks--, w += bytes_of(format), to += EG__BLOCK)
        block_store(to, block_load(format, w));
}

/* Columns beyond the last of a panel have scales of 0. */
static void pack(const eg__infile_args *g, size_t from, size_t columns, eg__infile_format format,
                 unpack_function *unpack, const panels *to) {
    _Alignas(64) uint8_t rows[EG__PANEL * SLICE];
    const size_t blocks = g->k / EG__BLOCK, block_bytes = bytes_of((int)format);
    for (size_t j = 0; j < columns; j += EG__PANEL) {
        const size_t width = eg__min(EG__PANEL, columns - j);
        uint8_t *panel = to->data + j * g->k;
        float *scale = to->scale + j * blocks;
        if (width < EG__PANEL) {
            memset(rows, 0, sizeof rows);
            memset(scale, 0, blocks * EG__PANEL * sizeof *scale);
        }
        for (size_t o = 0; o < width; o++)
            for (size_t b = 0; b < blocks; b++)
                scale[b * EG__PANEL + o] =
                    block_scale(g->w + ((from + j + o) * blocks + b) * block_bytes);
        for (size_t k = 0, n; k < g->k; k += n) {
            n = eg__min(SLICE, g->k - k);
            for (size_t o = 0; o < width; o++)
                unpack(g->w + ((from + j + o) * blocks + k / EG__BLOCK) * block_bytes,
                       n / EG__BLOCK, rows + o * SLICE);
            /* four bytes move as a float does */
            const eg__move_f32_args move = {EG__PANEL,
                                            n / 4,
                                            (const float *)(const void *)rows,
                                            SLICE / 4,
                                            (float *)(void *)(panel + k * EG__PANEL),
                                            EG__PANEL};
            TRANSPOSE(&move);
        }
    }
}

typedef struct walk {
    const eg__infile_args *g;
    eg__infile_rows left;
    panels right;
} walk;

/* format, rows and panels are constants wherever this is inlined; `c` and `add` begin at the tile. */
INLINE void tile(const int format, const int rows, const int wide, const walk *w, size_t row,
                 size_t panel, float *c, const float *add, size_t width) {
    const int vectors = wide * PANEL_VECTORS;
    const size_t blocks = w->left.blocks, depth = w->left.depth, k = w->g->k;
    const int8_t *a = w->left.values + row * depth;
    const uint8_t *data = w->right.data + panel * EG__PANEL * k;
    const float *own = w->right.scale + panel * EG__PANEL * blocks;
    vf total[MAX_ROWS][MAX_VECTORS];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < vectors; v++) total[i][v] = vf_zero();
    }
    for (size_t b = 0; b < blocks; b++) {
        vi all[MAX_ROWS][MAX_VECTORS];
        UNROLL
        for (int i = 0; i < rows; i++) {
            UNROLL
            for (int v = 0; v < vectors; v++)
                all[i][v] = (format == q8 ? RAISED_8 : RAISED_4) > 0
                                ? vi_set(w->left.start[(row + (size_t)i) * blocks + b])
                                : vi_set(0);
        }
        for (int u = 0; u < EG__BLOCK / 4; u++, a += 4, data += 4 * EG__PANEL) {
            vi word[MAX_VECTORS];
            UNROLL
            for (int v = 0; v < vectors; v++)
                word[v] = vi_load(data + (size_t)(v / PANEL_VECTORS) * EG__PANEL * k +
                                  v % PANEL_VECTORS * VF_N * 4);
            UNROLL
            for (int i = 0; i < rows; i++) {
                const vi four = vi_broadcast(a + (size_t)i * depth);
                UNROLL
                for (int v = 0; v < vectors; v++) DOT(format, all[i][v], four, word[v]);
            }
        }
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const vf scale = vf_load(own + (size_t)(v / PANEL_VECTORS) * EG__PANEL * blocks +
                                     b * EG__PANEL + v % PANEL_VECTORS * VF_N);
            UNROLL
            for (int i = 0; i < rows; i++) {
                const vf both =
                    vf_mul(scale, vf_broadcast(&w->left.scale[(row + (size_t)i) * blocks + b]));
                total[i][v] = vf_fma(vi_to_float(all[i][v]), both, total[i][v]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const size_t before = (size_t)v * VF_N;
            const size_t lanes = before < width ? eg__min(VF_N, width - before) : 0;
            float *to = c + (size_t)i * w->g->c_stride + before;
            const float *more = add ? add + (size_t)i * w->g->add_stride + before : NULL;
            if (lanes == VF_N)
                vf_store(to, more ? vf_add(total[i][v], vf_load(more)) : total[i][v]);
            else if (lanes)
                vf_store_part(
                    to, more ? vf_add(total[i][v], vf_load_part(more, lanes)) : total[i][v], lanes);
        }
    }
}

#define DEFINE_TILE(format, rows, wide)                                                      \
    __attribute__((noinline)) static void format##_tile_##rows##_##wide(                     \
        const walk *w, size_t row, size_t panel, float *c, const float *add, size_t width) { \
        tile(format, rows, wide, w, row, panel, c, add, width);                              \
    }
#define CASE(format, r, p)                                     \
    if (rows == r && wide == p) {                              \
        format##_tile_##r##_##p(w, row, panel, c, add, width); \
        return;                                                \
    }
#define DEFINE_TILES(format)                                                                     \
    TILES(DEFINE_TILE, format)                                                                   \
    static void format##_tile(size_t rows, size_t wide, const walk *w, size_t row, size_t panel, \
                              float *c, const float *add, size_t width) {                        \
        TILES(CASE, format)                                                                      \
        assert(!"every tile that a product can ask for is in TILES");                            \
    }
typedef void tile_function(size_t rows, size_t wide, const walk *w, size_t row, size_t panel,
                           float *c, const float *add, size_t width);

static void many(const walk *w, size_t from, size_t columns, tile_function *run) {
    const eg__infile_args *g = w->g;
    const size_t all = eg__gemm_panels(columns), parts = eg__ceil_div(g->m, MAX_ROWS);
    for (size_t panel = 0, wide; panel < all; panel += wide) {
        wide = eg__min(MAX_PANELS, all - panel);
        const size_t column = panel * EG__PANEL;
        for (size_t part = 0, row = 0; part < parts; part++) {
            const size_t rows = g->m / parts + (part < g->m % parts);
            run(rows, wide, w, row, panel, g->c + row * g->c_stride + from + column,
                g->add ? g->add + row * g->add_stride + from + column : NULL, columns - column);
            row += rows;
        }
    }
}

#define DEFINE_PRODUCT(format, raised)                                                         \
    DEFINE_ALL_DOTS(format)                                                                    \
    DEFINE_TILES(format)                                                                       \
    static void format##_unpack(const uint8_t *w, size_t blocks, uint8_t *to) {                \
        blocks_unpack(format, w, blocks, to);                                                  \
    }                                                                                          \
    void SIMD(eg__infile_##format##i8)(const eg__infile_args *g) {                             \
        if (!g->m || !g->n) return;                                                            \
        walk w = {.g = g, .left = rows_quantize(g, raised)};                                   \
        w.right.data = (uint8_t *)g->scratch + eg__infile_rows_bytes(g->m, g->k);              \
        w.right.scale = (float *)(void *)(w.right.data + EG__STORED_CHUNK * g->k);             \
        for (size_t from = 0; from < g->n; from += EG__STORED_CHUNK) {                         \
            const size_t columns = eg__min(EG__STORED_CHUNK, g->n - from);                     \
            if (g->m <= eg__infile_few((eg__infile_format)format, true))                       \
                few(g, &w.left, from, columns, format##_dots);                                 \
            else {                                                                             \
                pack(g, from, columns, (eg__infile_format)format, format##_unpack, &w.right);  \
                many(&w, from, columns, format##_tile);                                        \
            }                                                                                  \
            if (g->epilogue)                                                                   \
                g->epilogue->apply(g->epilogue->user, g->c + from, g->c_stride, 0, g->m, from, \
                                   columns);                                                   \
        }                                                                                      \
    }
DEFINE_PRODUCT(q8, RAISED_8)
DEFINE_PRODUCT(q4, RAISED_4)
