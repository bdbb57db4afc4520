/* What the definitions of attention share: rows, scores, weights. */
#include "kernels/kernels.h"

#include <math.h>

enum { CHUNK = 64 }; /* columns whose sums are kept at once */

typedef struct eg__attention_row {
    size_t sample, head, query;
    size_t at; /* the row of q, out, y and d */
    eg__attention_span sees;
} eg__attention_row;

static inline const float *key_row(const eg__attention_f32_args *a, const eg__attention_row *row,
                                   const float *x, size_t stride, size_t columns, size_t key) {
    const size_t head = row->head / (a->heads / a->kv_heads);
    return x + (row->sample * a->keys + key) * stride + head * columns;
}

static inline double dot(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static inline double score(const eg__attention_f32_args *a, const eg__attention_row *row,
                           size_t key) {
    const float *q = a->q + row->at * a->q_stride + row->head * a->d;
    const double s = dot(a->d, q, key_row(a, row, a->k, a->k_stride, a->d, key)) * (double)a->scale;
    if (!a->mask) return s;
    const float mask = a->mask[row->sample * a->mask_sample + row->query * a->mask_row + key];
    return mask <= EG__ATTENTION_HIDDEN ? -INFINITY : s + (double)mask;
}

/* The dropout factor of a weight. */
static inline double kept(const eg__attention_f32_args *a, const eg__attention_row *row,
                          size_t key) {
    if (!a->dropout.limit) return 1;
    if (eg__attention_drops(a, row->sample, row->head, row->query, key)) return 0;
    return eg__attention_keep(a->dropout.limit);
}

static inline eg__attention_row row_at(const eg__attention_f32_args *a, size_t sample, size_t head,
                                       size_t query) {
    return (eg__attention_row){sample, head, query, sample * a->queries + query,
                               eg__attention_sees(a, eg__attention_length(a, sample), query)};
}

/* Backward: the weight of a key and the gradient of its score. */
typedef struct eg__attention_pair {
    double weight, dropped, ds;
} eg__attention_pair;
static inline eg__attention_pair pair_at(const eg__attention_f32_args *a,
                                         const eg__attention_row *row, size_t key) {
    const float *y = a->y + row->at * a->y_stride, *dy = a->dy + row->at * a->dy_stride;
    const size_t column = row->head * a->dv, end = a->heads * a->dv + row->head;
    const double delta = dot(a->dv, y + column, dy + column) - (double)dy[end];
    const double keep = kept(a, row, key), p = exp(score(a, row, key) - (double)y[end]);
    const double dp =
        keep * dot(a->dv, dy + column, key_row(a, row, a->v, a->v_stride, a->dv, key));
    return (eg__attention_pair){p, p * keep, p * (dp - delta)};
}

/* The rows of the items, in their order. */
static inline void each_row(const eg__attention_f32_args *a,
                            void (*run)(const eg__attention_f32_args *a,
                                        const eg__attention_row *row)) {
    const size_t rows = eg__attention_rows(a), group = a->heads / a->kv_heads;
    const size_t blocks = eg__attention_blocks(a, false);
    for (size_t item = a->first; item < a->first + a->count; item++) {
        const size_t first = item % blocks * EG__ATTENTION_ROWS, pair = item / blocks;
        for (size_t r = first; r < eg__min(first + EG__ATTENTION_ROWS, rows); r++) {
            const eg__attention_row row =
                row_at(a, pair / a->kv_heads, pair % a->kv_heads * group + r % group, r / group);
            run(a, &row);
        }
    }
}
