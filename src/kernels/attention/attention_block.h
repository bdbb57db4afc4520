/* Blocks of rows (queries of the heads that share keys) and of keys: what the kernels of attention share.
 * Included after a simd header. Products are those of gemm_f32: its tiles already run at the peak. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

#include <string.h>

enum { ROWS = EG__ATTENTION_ROWS, KEYS = EG__ATTENTION_KEYS };

#define EACH_VECTOR(n) \
    UNROLL             \
    for (int l = 0; l < (n); l++)

/* The rows of an item. Later queries see later keys, so both ends of the visible range only
 * grow. */
typedef struct block {
    size_t sample, kv, rows;
    size_t query[ROWS], head[ROWS]; /* of each row, */
    size_t from[ROWS], to[ROWS];    /* and the keys that it sees */
} block;

static void block_open(const eg__attention_f32_args *a, size_t pair, size_t first, block *b) {
    b->sample = pair / a->kv_heads;
    b->kv = pair % a->kv_heads;
    b->rows = eg__min(ROWS, eg__attention_rows(a) - first);
    const size_t length = eg__attention_length(a, b->sample);
    const size_t group = a->heads / a->kv_heads;
    size_t query = first / group, member = first % group;
    for (size_t r = 0; r < b->rows; r++) {
        const eg__attention_span sees = eg__attention_sees(a, length, query);
        b->query[r] = query;
        b->head[r] = b->kv * group + member;
        b->from[r] = sees.from;
        b->to[r] = sees.to;
        if (++member == group) member = 0, query++;
    }
}

/* The range of rows that see some of the keys `start` .. `end`-1. */
typedef struct rows {
    size_t first, end;
} rows;
INLINE rows rows_seeing(const block *b, size_t start, size_t end) {
    rows r = {0, b->rows};
    while (r.first < r.end && b->to[r.first] <= start) r.first++;
    while (r.end > r.first && b->from[r.end - 1] >= end) r.end--;
    return r;
}

/* Row r of a matrix with `columns` columns per head. */
INLINE const float *block_row(const eg__attention_f32_args *a, const block *b, size_t r,
                              const float *x, size_t stride, size_t columns) {
    return x + (b->sample * a->queries + b->query[r]) * stride + b->head[r] * columns;
}

/* Copies the rows, scaled, into contiguous memory. */
static void rows_load(const eg__attention_f32_args *a, const block *b, const float *x,
                      size_t stride, size_t columns, float factor, float *to, size_t to_stride) {
    const vf f = vf_set(factor);
    for (size_t r = 0; r < b->rows; r++, to += to_stride) {
        const float *from = block_row(a, b, r, x, stride, columns);
        size_t c = 0;
        for (; c + VF_N <= columns; c += VF_N) vf_store(to + c, vf_mul(vf_load(from + c), f));
        if (c < columns)
            vf_store_part(to + c, vf_mul(vf_load_part(from + c, columns - c), f), columns - c);
    }
}

/* ---- right sides of products, packed in panels: x, or x transposed */
static void pack(size_t n, size_t columns, const float *x, size_t stride, float *to) {
    for (size_t column = 0; column < columns; column += EG__PANEL) {
        const size_t width = eg__min(EG__PANEL, columns - column);
        for (size_t i = 0; i < n; i++, to += EG__PANEL) {
            const float *from = x + i * stride + column;
            UNROLL
            for (size_t l = 0; l < EG__PANEL; l += VF_N) {
                if (width >= l + VF_N) vf_store(to + l, vf_load(from + l));
                else vf_store(to + l, width > l ? vf_load_part(from + l, width - l) : vf_zero());
            }
        }
    }
}
static void pack_transposed(size_t n, size_t columns, const float *x, size_t stride, float *to) {
    for (size_t i = 0; i < n; i += EG__PANEL, to += EG__PANEL * columns) {
        const size_t width = eg__min(EG__PANEL, n - i);
        const eg__move_f32_args turn = {width, columns, x + i * stride, stride, to, EG__PANEL};
        if (width < EG__PANEL) memset(to, 0, EG__PANEL * columns * sizeof *to);
        TRANSPOSE(&turn);
    }
}

INLINE void product(size_t m, size_t n, size_t k, const float *left, size_t left_stride,
                    const float *right, float *c, size_t c_stride, bool add) {
    const eg__gemm_f32_args args = {.m = m,
                                    .n = n,
                                    .k = k,
                                    .a = left,
                                    .a_stride = left_stride,
                                    .b = right,
                                    .c = c,
                                    .c_stride = c_stride,
                                    .accumulate = add};
    SIMD(eg__gemm_f32)(&args);
}

/* ---- scores. A hidden one is -infinity, of which the exponential is 0 */
static const float lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Hides all of the `wide` scores but low .. high-1. */
INLINE void hide(float *s, size_t wide, size_t low, size_t high) {
    const vf hidden = vf_set(-INFINITY), from = vf_set((float)low), to = vf_set((float)high);
    for (size_t c = 0; c < wide; c += VF_N) {
        const vf at = vf_add(vf_load(lanes), vf_set((float)c));
        const vf seen = vf_select(vf_lt(at, to), vf_load(s + c), hidden);
        vf_store(s + c, vf_select(vf_lt(at, from), hidden, seen));
    }
}

/* Row r of the block, whose scores begin at key `start`. */
INLINE void row_hide(const block *b, size_t r, size_t start, size_t wide, float *s) {
    const size_t low = b->from[r] > start ? eg__min(b->from[r] - start, wide) : 0;
    const size_t high = b->to[r] > start ? eg__min(b->to[r] - start, wide) : 0;
    if (low > 0 || high < wide) hide(s, wide, low, high);
}

/* Adds the mask times `factor`, as scores are scaled. */
INLINE vf mask_add(vf s, vf mask, vf factor) {
    const vm hides = vf_le(mask, vf_set(EG__ATTENTION_HIDDEN));
    return vf_select(hides, vf_set(-INFINITY), vf_fma(mask, factor, s));
}
INLINE const float *row_mask(const eg__attention_f32_args *a, const block *b, size_t r) {
    return a->mask + b->sample * a->mask_sample + b->query[r] * a->mask_row;
}
INLINE void row_add_mask(const float *mask, size_t n, vf factor, float *s) {
    size_t c = 0;
    for (; c + VF_N <= n; c += VF_N)
        vf_store(s + c, mask_add(vf_load(s + c), vf_load(mask + c), factor));
    if (c < n) /* the rest is hidden afterwards */
        vf_store(s + c, mask_add(vf_load(s + c), vf_load_part(mask + c, n - c), factor));
}

INLINE bool pair_drops(const eg__attention_f32_args *a, const block *b, size_t r, size_t key) {
    return eg__attention_drops(a, b->sample, b->head[r], b->query[r], key);
}
