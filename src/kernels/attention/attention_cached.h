/* Caches of keys and values (f32, f16 or int8), and attention that reads them in place. */
#ifndef EG__ATTENTION_CACHED_H
#define EG__ATTENTION_CACHED_H

#include "elegans/tensor.h"
#include "kernels/attention/attention.h"

/* The layout of a cache: `slots` rows of heads*d elements; int8 rows are followed by one f32 scale
 * per head. */
typedef struct eg__kv_rows {
    eg_type type; /* EG_F32, EG_F16 or EG_I8 */
    size_t slots, heads, d;
    size_t number; /* bytes per element */
    size_t size;   /* of a row, in bytes; a multiple of four */
    size_t scales; /* where they begin in a row, in bytes */
} eg__kv_rows;

/* False = unsupported type, empty, or too large. */
bool eg__kv_rows_make(eg_type type, uint64_t slots, uint64_t heads, uint64_t d, eg__kv_rows *out);

/* int8: the scale of a head is its largest magnitude / 127. A non-finite value makes the whole head
 * NaN. */
float eg__kv_scale(size_t n, const float *x);
static inline float eg__kv_nearest(float x, float scale) {
    if (!(scale > 0)) return 0;
    const float ratio = x / scale, limited = ratio > 127 ? 127 : ratio < -127 ? -127 : ratio;
    const float rounder = 0x1.8p23f; /* adding it rounds to the nearest integer, ties to even */
    return limited + rounder - rounder;
}
/* Stores a row of heads*d values in its slot. */
typedef void eg__kv_narrow(size_t n, const float *x, uint16_t *y); /* to f16 */
void eg__kv_write_row(const eg__kv_rows *rows, eg__kv_narrow *narrow, const float *from, void *to);

typedef struct eg__kv_side {
    eg__kv_rows rows;
    const char *data;
} eg__kv_side;
static inline const char *eg__kv_head(const eg__kv_side *x, size_t slot, size_t head) {
    return x->data + slot * x->rows.size + head * x->rows.d * x->rows.number;
}
static inline const float *eg__kv_head_scale(const eg__kv_side *x, size_t slot, size_t head) {
    return (const float *)(const void *)(x->data + slot * x->rows.size + x->rows.scales) + head;
}

/* attention_f32 with keys and values in pages of a cache. Of its arguments, k, v, mask, dropout and
 * those of gradients are ignored; keys is pages_row * page, lengths are i32 and required, and rows
 * of out have heads*dv columns only. Position p of sample b is slot pages[b][p / page] * page + p %
 * page; the keys of an unmapped page (negative) are hidden. */
typedef struct eg__attention_cached_f32_args {
    eg__attention_f32_args f32;
    eg__kv_side k, v;
    const int32_t *pages;
    size_t pages_row, page;
} eg__attention_cached_f32_args;

/* Up to so many rows read the cache in place; for more, it is widened to f32 first. */
enum { EG__ATTENTION_FEW = 8 };

/* Keys per block. */
static inline size_t eg__attention_cached_step(const eg__attention_f32_args *a) {
    return a->queries == 1 ? EG__ATTENTION_KEYS : eg__attention_step(a);
}

/* The slot of a position and the number of positions before `end` that are contiguous from it on.
 * `there` is false for an unmapped page: its positions are skipped. */
typedef struct eg__kv_piece {
    size_t slot, count;
    bool there;
} eg__kv_piece;
static inline eg__kv_piece eg__kv_find(const eg__attention_cached_f32_args *a, size_t sample,
                                       size_t position, size_t end) {
    const size_t index = position / a->page, within = position % a->page;
    const int32_t page = a->pages[sample * a->pages_row + index];
    const bool there = page >= 0 && (size_t)page < a->k.rows.slots / a->page;
    return (eg__kv_piece){there ? (size_t)page * a->page + within : 0,
                          eg__min(a->page - within, end - position), there};
}

#endif
