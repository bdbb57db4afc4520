/* Attention (the heads are side by side in the columns) and rotary positions. */
#ifndef EG__ATTENTION_H
#define EG__ATTENTION_H

#include "base/base.h"
#include "base/dropout.h"

/* Dropout of weights: those whose upper 53 random bits are below the limit. */
typedef struct eg__attention_dropout {
    uint64_t limit; /* 0 = none */
    uint64_t seed, key, time;
} eg__attention_dropout;

/* softmax(scale q k' + mask) v, sample by sample and head by head; `heads / kv_heads` heads share
 * the same keys. Rows of sample b are b*queries.. of q, out, y and d, and b*keys.. of k and v. A
 * row of out has heads*dv columns, then the log-sum-exp of each head, EG__ATTENTION_BLIND for a
 * query that sees nothing (its result is 0).
 *
 * Gradients read y, the output of the forward kernel, and d, its gradient. dq writes rows like
 * those of q; dkv writes rows of kv_heads*d columns for k, then kv_heads*dv columns for v.
 *
 * Items may be split anywhere: see eg__attention_items. */
typedef struct eg__attention_f32_args {
    size_t queries, keys, heads, kv_heads, d, dv;
    float scale;
    bool causal;   /* the last query sees all keys, the one before it one less, ... */
    size_t window; /* a query sees at most so many keys, up to its own; 0 = no limit */
    const float *q, *k, *v;
    size_t q_stride, k_stride, v_stride;
    const float *mask; /* added to the scores; NULL = none */
    size_t mask_sample, mask_row;
    const void *lengths; /* valid keys per sample; NULL = all */
    bool lengths_are_i32;
    eg__attention_dropout dropout;
    float *out;
    size_t out_stride;
    const float *y, *dy;
    size_t y_stride, dy_stride;
    size_t first, count; /* items */
    float *scratch;      /* eg__attention_scratch floats, aligned to 64 */
} eg__attention_f32_args;

/* exp(score - EG__ATTENTION_BLIND) is 0, so a query that sees nothing gets weights of 0. A mask
 * value of EG__ATTENTION_HIDDEN or lower hides a key completely. */
#define EG__ATTENTION_BLIND  1e30f
#define EG__ATTENTION_HIDDEN -1e30f

/* Rows per item of one sample (a row is a query of one of the heads that share keys); for dkv, keys
 * per item. */
enum { EG__ATTENTION_ROWS = 128, EG__ATTENTION_KEYS = 128 };
/* Consecutive items that share keys packed once for all of them. */
enum { EG__ATTENTION_TOGETHER = 4 };
static inline size_t eg__attention_rows(const eg__attention_f32_args *a) {
    return a->queries * (a->heads / a->kv_heads);
}
/* Keys per block: fewer when causal, because later keys are hidden from many of the rows. */
static inline size_t eg__attention_step(const eg__attention_f32_args *a) {
    return a->causal || a->window ? EG__ATTENTION_KEYS / 2 : EG__ATTENTION_KEYS;
}
/* Items of one sample and one head of keys. */
static inline size_t eg__attention_blocks(const eg__attention_f32_args *a, bool over_keys) {
    return over_keys ? eg__ceil_div(a->keys, EG__ATTENTION_KEYS)
                     : eg__ceil_div(eg__attention_rows(a), EG__ATTENTION_ROWS);
}
/* The maximum over the kernels of packed rows, rows and sums, and blocks of scores. */
static inline size_t eg__attention_scratch(size_t d, size_t dv) {
    const size_t wide = eg__round_up(d, 16) + eg__round_up(dv, 16);
    return 3 * (EG__ATTENTION_ROWS + EG__ATTENTION_KEYS) * wide +
           3 * EG__ATTENTION_ROWS * EG__ATTENTION_KEYS;
}

/* Valid keys of a sample. */
static inline size_t eg__attention_length(const eg__attention_f32_args *a, size_t sample) {
    if (!a->lengths) return a->keys;
    const double n = a->lengths_are_i32 ? (double)((const int32_t *)a->lengths)[sample]
                                        : (double)((const float *)a->lengths)[sample];
    return !(n > 0) ? 0 : n < (double)a->keys ? (size_t)n : a->keys;
}

/* The keys from..to-1 that a query sees, of `length`. */
typedef struct eg__attention_span {
    size_t from, to;
} eg__attention_span;
static inline eg__attention_span eg__attention_sees(const eg__attention_f32_args *a, size_t length,
                                                    size_t query) {
    eg__attention_span span = {0, length};
    if (!a->causal && !a->window) return span;
    const size_t end = query + 1 + length; /* of its keys, plus those of all queries */
    span.to = end > a->queries ? eg__min(end - a->queries, length) : 0;
    if (a->window && span.to > a->window) span.from = span.to - a->window;
    return span;
}

static inline bool eg__attention_drops(const eg__attention_f32_args *a, size_t sample, size_t head,
                                       size_t query, size_t key) {
    const eg__attention_dropout *o = &a->dropout;
    const uint64_t element =
        ((sample * a->heads + head) * (uint64_t)a->queries + query) * a->keys + key;
    return eg__dropout_bits(o->seed, o->key, o->time, element) >> 11 < o->limit;
}
static inline double eg__attention_keep(uint64_t limit) {
    return 1 / (1 - (double)limit * 0x1p-53);
}

/* Rotates every pair (a, b) of a head by position * frequency[pair]: a cos - b sin, b cos + a sin,
 * or the other way round. Pairs are (i, i + d/2) or, interleaved, (2i, 2i + 1). Position of row r:
 * that of the list, or r % period + offset. */
typedef struct eg__rotary_f32_args {
    size_t rows, heads, d;
    const float *x;
    size_t x_stride;
    float *y; /* may be x */
    size_t y_stride;
    const float *frequency;   /* d/2 */
    const int32_t *positions; /* NULL: */
    int32_t offset;
    size_t first,
        period; /* index of the first row; rows after which positions (or the list) start again */
    bool interleaved, back;
    float *scratch; /* eg__rotary_scratch floats */
} eg__rotary_f32_args;
static inline size_t eg__rotary_scratch(size_t d) { return 2 * eg__round_up(d, 16); }
static inline double eg__rotary_position(const eg__rotary_f32_args *a, size_t row) {
    const size_t at = (a->first + row) % a->period;
    return a->positions ? (double)a->positions[at] : (double)at + (double)a->offset;
}

#endif
