/* infile_f32, infile_f16, infile_bf16, infile_q8 and infile_q4 for any vector width: included by
 * infile_<isa>.c after its simd header and
 *   block_scale(block)    the f16 that a block begins with
 *   MAX_SUMS              vectors of sums that fit into registers beside what is added to them
 *
 * Rows meet W as it lies: every row of W is read once, from its beginning to its end. One row of A waits for
 * memory alone: rows of W are read one behind the other, which a processor foresees within a page, so that
 * only the next page is to be asked for. Several rows of A go over four rows of W at a time, which serves for many rows,
 * too, as four of them share what is widened. Blocks cost more to widen: for many rows a chunk of them
 * becomes panels of f32, which stay in the second cache while all rows meet them. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

#include <string.h>

enum {
    OUTS = 4, /* rows of W at a time, for several of A */
    PAGE = 4096,
    ROWS = 4,        /* and of A */
    CHAINS = 2,      /* sums of a dot product, of one row alone: an FMA takes four cycles */
    BLOCK_ROWS = 16, /* of A that go over a chunk together: 128 KB of 2048 columns */
    AHEAD =
        4096,    /* bytes to fetch ahead of the next rows: what comes while memory takes its time */
    SLICE = 256, /* numbers that are widened at a time, where that is done in memory */
};
enum {
    f32 = EG__INFILE_F32,
    f16 = EG__INFILE_F16,
    bf16 = EG__INFILE_BF16,
    q8 = EG__INFILE_Q8_0,
    q4 = EG__INFILE_Q4_0
};

/* ---- widening */
INLINE int element_bytes(const int format) { /* of what is no block */
    return (int)eg__infile_traits_of((eg__infile_format)format)->block_bytes;
}
INLINE vf numbers_load(const int format, const uint8_t *w, size_t i) {
    return format == f16    ? vf_load_f16(w + 2 * i)
           : format == bf16 ? vf_load_bf16(w + 2 * i)
                            : vf_load((const float *)(const void *)w + i);
}
INLINE vf numbers_load_part(const int format, const uint8_t *w, size_t i, size_t n) {
    if (format == f32) return vf_load_part((const float *)(const void *)w + i, n);
    uint16_t rest[VF_N] = {0};
    memcpy(rest, w + 2 * i, 2 * n);
    return numbers_load(format, (const uint8_t *)rest, 0);
}

/* n numbers to floats; of blocks whole ones, in loops that compilers know how to do. */
INLINE void numbers_widen(const int format, const uint8_t *restrict w, size_t n,
                          float *restrict to) {
    if (format == q8)
        for (; n; n -= EG__BLOCK, w += EG__BLOCK_Q8_0, to += EG__BLOCK) {
            const int8_t *q = (const int8_t *)w + 2;
            const float scale = block_scale(w);
            for (int i = 0; i < EG__BLOCK; i++) to[i] = scale * (float)q[i];
        }
    else if (format == q4)
        for (; n; n -= EG__BLOCK, w += EG__BLOCK_Q4_0, to += EG__BLOCK) {
            const uint8_t *q = w + 2;
            const float scale = block_scale(w);
            for (int i = 0; i < 16; i++) {
                to[i] = scale * (float)((q[i] & 15) - 8);
                to[i + 16] = scale * (float)((q[i] >> 4) - 8);
            }
        }
    else {
        size_t i = 0;
        for (; i + VF_N <= n; i += VF_N) vf_store(to + i, numbers_load(format, w, i));
        if (i < n) vf_store_part(to + i, numbers_load_part(format, w, i, n - i), n - i);
    }
}

/* ---- one row of A and one of W. format is a constant wherever this is inlined. */
typedef struct chains {
    vf of[CHAINS];
} chains;

INLINE void row_add(const int format, const float *a, const uint8_t *w, size_t k, chains *s) {
    const int round = CHAINS * VF_N, each = round * element_bytes(format);
    const uint8_t *end = w + k / (size_t)round * (size_t)each;
    for (; w < end; w += each, a += round) {
        if (((uintptr_t)w & (PAGE - 1)) < (unsigned)each) {
            /* not as far as the first cache, or what the processor foresees itself comes later */
            __builtin_prefetch(w + PAGE, 0, 1);
            __builtin_prefetch(w + PAGE + 64, 0, 1);
        }
        UNROLL
        for (int c = 0; c < CHAINS; c++)
            s->of[c] = vf_fma(vf_load(a + c * VF_N), numbers_load(format, w, (size_t)(c * VF_N)),
                              s->of[c]);
    }
    for (size_t i = 0, rest = k % (size_t)round, n; i < rest; i += n) {
        n = rest - i < VF_N ? rest - i : VF_N;
        s->of[0] = vf_fma(vf_load_part(a + i, n), numbers_load_part(format, w, i, n), s->of[0]);
    }
}

INLINE float row_dot(const int format, const float *a, const uint8_t *w, size_t k) {
    chains s;
    UNROLL
    for (int c = 0; c < CHAINS; c++) s.of[c] = vf_zero();
    if (eg__infile_is_blocks((eg__infile_format)format)) {
        float wide[SLICE];
        for (size_t i = 0, n; i < k; i += n) {
            n = k - i < SLICE ? k - i : SLICE;
            numbers_widen(format, w + eg__infile_bytes((eg__infile_format)format, i), n, wide);
            row_add(f32, a + i, (const uint8_t *)wide, n, &s);
        }
    } else row_add(format, a, w, k, &s);
    return vf_sum(vf_add(s.of[0], s.of[1]));
}

/* ---- several rows. format, rows and outs are constants wherever this is inlined; an element is the same sum
 * whatever is computed beside it. */
typedef struct sums {
    vf of[ROWS][OUTS];
} sums;

INLINE void dots_add(const int format, const int rows, const int outs, const float *a,
                     size_t a_stride, const uint8_t *w, size_t bytes, size_t k, sums *s) {
    /* Several rows of W in turn are nothing that a processor foresees. As they follow each other, so do the
     * lines that are fetched ahead. */
    const int step = outs * VF_N * element_bytes(format);
    const uint8_t *ahead = w + (size_t)outs * bytes + AHEAD;
    size_t i = 0;
    for (; i + VF_N <= k; i += VF_N) {
        UNROLL
        for (int line = 0; line < step; line += 64) __builtin_prefetch(ahead + line, 0, 3);
        ahead += step;
        vf left[ROWS];
        UNROLL
        for (int r = 0; r < rows; r++) left[r] = vf_load(a + (size_t)r * a_stride + i);
        UNROLL
        for (int o = 0; o < outs; o++) {
            const vf right = numbers_load(format, w + (size_t)o * bytes, i);
            UNROLL
            for (int r = 0; r < rows; r++) s->of[r][o] = vf_fma(left[r], right, s->of[r][o]);
        }
    }
    if (i == k) return;
    for (int o = 0; o < outs; o++) {
        const vf right = numbers_load_part(format, w + (size_t)o * bytes, i, k - i);
        for (int r = 0; r < rows; r++)
            s->of[r][o] =
                vf_fma(vf_load_part(a + (size_t)r * a_stride + i, k - i), right, s->of[r][o]);
    }
}

INLINE void dots(const int format, const int rows, const int outs, const eg__infile_args *g,
                 size_t row, size_t column, size_t bytes) {
    const float *a = g->a + row * g->a_stride;
    const uint8_t *w = g->w + column * bytes;
    sums s;
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int o = 0; o < outs; o++) s.of[r][o] = vf_zero();
    }
    if (eg__infile_is_blocks((eg__infile_format)format)) {
        float wide[OUTS * SLICE];
        for (size_t i = 0, n; i < g->k; i += n) {
            n = g->k - i < SLICE ? g->k - i : SLICE;
            for (int o = 0; o < outs; o++)
                numbers_widen(
                    format, w + (size_t)o * bytes + eg__infile_bytes((eg__infile_format)format, i),
                    n, wide + o * SLICE);
            dots_add(f32, rows, outs, a + i, g->a_stride, (const uint8_t *)wide,
                     SLICE * sizeof(float), n, &s);
        }
    } else dots_add(format, rows, outs, a, g->a_stride, w, bytes, g->k, &s);
    for (int r = 0; r < rows; r++) {
        float *c = g->c + (row + (size_t)r) * g->c_stride + column;
        const float *add = g->add ? g->add + (row + (size_t)r) * g->add_stride + column : NULL;
        for (int o = 0; o < outs; o++) {
            const float sum = vf_sum(s.of[r][o]);
            c[o] = add ? sum + add[o] : sum;
        }
    }
}

/* As many sums at once as there are registers for. */
#define DEFINE_DOTS(format, rows, outs)                                      \
    __attribute__((noinline)) static void format##_dots_##rows##_##outs(     \
        const eg__infile_args *g, size_t row, size_t column, size_t bytes) { \
        if (outs == 1 || rows * outs <= MAX_SUMS) {                          \
            dots(format, rows, outs, g, row, column, bytes);                 \
            return;                                                          \
        }                                                                    \
        dots(format, rows, 2, g, row, column, bytes);                        \
        dots(format, rows, 2, g, row, column + 2, bytes);                    \
    }
/* clang-format off */
#define BOTH(format, rows) DEFINE_DOTS(format, rows, 4) DEFINE_DOTS(format, rows, 1)
#define PAIR(format, rows) {format##_dots_##rows##_1, format##_dots_##rows##_4}
#define DEFINE_ALL_DOTS(format)                                    \
    BOTH(format, 2) BOTH(format, 3) BOTH(format, 4)                    \
    static dots_function *const format##_dots[ROWS + 1][2] = {     \
        {NULL}, {NULL}, PAIR(format, 2), PAIR(format, 3), PAIR(format, 4)};
/* clang-format on */
typedef void dots_function(const eg__infile_args *g, size_t row, size_t column, size_t bytes);
/* One row with many columns: a call for each would be an interruption of the stream. */
#define DEFINE_ONE(format)                                                                 \
    __attribute__((noinline)) static void format##_one(                                    \
        const eg__infile_args *g, size_t row, size_t from, size_t columns, size_t bytes) { \
        const float *a = g->a + row * g->a_stride;                                         \
        const float *add = g->add ? g->add + row * g->add_stride : NULL;                   \
        float *c = g->c + row * g->c_stride;                                               \
        for (size_t j = from; j < from + columns; j++) {                                   \
            const float sum = row_dot(format, a, g->w + j * bytes, g->k);                  \
            c[j] = add ? sum + add[j] : sum;                                               \
        }                                                                                  \
    }
typedef void one_function(const eg__infile_args *g, size_t row, size_t from, size_t columns,
                          size_t bytes);

/* Rows in blocks that stay in the second cache, with the chunk of W, while all columns go over them. */
static void as_it_lies(const eg__infile_args *g, size_t from, size_t columns, size_t bytes,
                       one_function *one, dots_function *const by_rows[ROWS + 1][2]) {
    for (size_t first = 0, m; first < g->m; first += m) {
        m = eg__min(BLOCK_ROWS, g->m - first);
        const size_t parts = eg__ceil_div(m, ROWS);
        if (m == 1) one(g, first, from, columns, bytes);
        for (size_t j = 0, outs; m > 1 && j < columns; j += outs) {
            outs = columns - j >= OUTS ? OUTS : 1;
            for (size_t part = 0, row = first; part < parts; part++) {
                const size_t rows = m / parts + (part < m % parts);
                by_rows[rows][outs == OUTS](g, row, from + j, bytes);
                row += rows;
            }
        }
    }
    if (g->epilogue)
        g->epilogue->apply(g->epilogue->user, g->c + from, g->c_stride, 0, g->m, from, columns);
}

/* ---- many rows with blocks: panels of f32 */
typedef void widen_function(const uint8_t *w, size_t n, float *to);

/* Numbers k to k + depth of the rows; columns beyond the last of a panel are zeros. */
static void pack(const eg__infile_args *g, size_t from, size_t columns, size_t k, size_t depth,
                 eg__infile_format format, widen_function *widen, float *panel) {
    _Alignas(64) float rows[EG__PANEL * SLICE];
    const size_t bytes = eg__infile_bytes(format, g->k);
    for (size_t j = 0; j < columns; j += EG__PANEL, panel += EG__PANEL * depth) {
        const size_t width = eg__min(EG__PANEL, columns - j);
        if (width < EG__PANEL) memset(rows, 0, sizeof rows);
        for (size_t i = 0, n; i < depth; i += n) {
            n = eg__min(SLICE, depth - i);
            for (size_t o = 0; o < width; o++)
                widen(g->w + (from + j + o) * bytes + eg__infile_bytes(format, k + i), n,
                      rows + o * SLICE);
            const eg__move_f32_args move = {EG__PANEL, n, rows, SLICE, panel + i * EG__PANEL,
                                            EG__PANEL};
            TRANSPOSE(&move);
        }
    }
}

/* The epilogue of part of the product. */
typedef struct shifted {
    const eg__epilogue *whole;
    size_t row, column;
} shifted;
static void shifted_apply(const void *user, float *c, size_t c_stride, size_t row, size_t rows,
                          size_t column, size_t columns) {
    const shifted *s = user;
    s->whole->apply(s->whole->user, c, c_stride, s->row + row, rows, s->column + column, columns);
}

/* Rows from `row` on of a chunk, `depth` numbers of them from k on. */
static void part_run(const eg__infile_args *g, size_t row, size_t rows, size_t from, size_t columns,
                     size_t k, size_t depth, const float *panels, float *copy) {
    const shifted part = {g->epilogue, row, from};
    const eg__epilogue epilogue = {shifted_apply, &part};
    const float *a = g->a + row * g->a_stride + k;
    const size_t copy_stride = eg__infile_copy_stride(eg__gemm_blocks_or(g->blocks).depth);
    if (copy)
        for (size_t i = 0; i < rows; i++)
            memcpy(copy + i * copy_stride, a + i * g->a_stride, depth * sizeof *copy);
    const eg__gemm_f32_args product = {
        .m = rows,
        .n = columns,
        .k = depth,
        .a = copy ? copy : a,
        .a_stride = copy ? copy_stride : g->a_stride,
        .b = panels,
        .c = g->c + row * g->c_stride + from,
        .c_stride = g->c_stride,
        .accumulate = k > 0,
        .epilogue = g->epilogue && k + depth == g->k ? &epilogue : NULL,
        .add = g->add && !k ? g->add + row * g->add_stride + from : NULL,
        .add_stride = g->add_stride,
        .blocks = g->blocks};
    SIMD(eg__gemm_f32)(&product);
}

static void in_panels(const eg__infile_args *g, size_t from, size_t columns,
                      eg__infile_format format, widen_function *widen) {
    const eg__gemm_blocks blocks = eg__gemm_blocks_or(g->blocks);
    float *panels = g->scratch;
    float *copy = panels + eg__infile_panels(g->k, blocks.depth) / sizeof *panels;
    const size_t parts = eg__ceil_div(g->m, blocks.rows);
    size_t k = 0;
    do {
        const size_t depth = eg__min(blocks.depth, g->k - k);
        pack(g, from, columns, k, depth, format, widen, panels);
        for (size_t part = 0, row = 0; part < parts; part++) {
            const size_t rows = g->m / parts + (part < g->m % parts);
            part_run(g, row, rows, from, columns, k, depth, panels,
                     eg__infile_copies(g->a_stride) ? copy : NULL);
            row += rows;
        }
        k += depth;
    } while (k < g->k);
}

#define DEFINE_PRODUCT(format)                                                           \
    DEFINE_ONE(format)                                                                   \
    DEFINE_ALL_DOTS(format)                                                              \
    static void format##_widen(const uint8_t *w, size_t n, float *to) {                  \
        numbers_widen(format, w, n, to);                                                 \
    }                                                                                    \
    void SIMD(eg__infile_##format)(const eg__infile_args *g) {                           \
        const size_t bytes = eg__infile_bytes((eg__infile_format)format, g->k);          \
        for (size_t from = 0; g->m && from < g->n; from += EG__STORED_CHUNK) {           \
            const size_t columns = eg__min(EG__STORED_CHUNK, g->n - from);               \
            if (g->m <= eg__infile_few((eg__infile_format)format, false))                \
                as_it_lies(g, from, columns, bytes, format##_one, format##_dots);        \
            else in_panels(g, from, columns, (eg__infile_format)format, format##_widen); \
        }                                                                                \
    }
DEFINE_PRODUCT(f32)
DEFINE_PRODUCT(f16)
DEFINE_PRODUCT(bf16)
DEFINE_PRODUCT(q8)
DEFINE_PRODUCT(q4)
