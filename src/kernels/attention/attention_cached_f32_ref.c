/* The definition of attention_cached_f32. */
#include "kernels/kernels.h"

#include <math.h>

typedef struct row {
    const eg__attention_cached_f32_args *a;
    size_t sample, kv;
    const float *q;
    eg__attention_span sees;
} row;

static double number(const eg__kv_side *x, size_t slot, size_t head, size_t column) {
    const char *numbers = eg__kv_head(x, slot, head);
    if (x->rows.type == EG_F32) return (double)((const float *)(const void *)numbers)[column];
    if (x->rows.type == EG_I8)
        return (double)((const int8_t *)numbers)[column] *
               (double)*eg__kv_head_scale(x, slot, head);
    float wide;
    eg__f16_to_f32_ref(1, (const uint16_t *)(const void *)numbers + column, &wide);
    return (double)wide;
}

/* False = its page is not mapped. */
static bool score(const row *r, size_t position, size_t *slot, double *out) {
    const eg__kv_piece piece = eg__kv_find(r->a, r->sample, position, position + 1);
    double sum = 0;
    if (!piece.there) return false;
    for (size_t i = 0; i < r->a->f32.d; i++)
        sum += (double)r->q[i] * number(&r->a->k, piece.slot, r->kv, i);
    *slot = piece.slot;
    *out = sum * (double)r->a->f32.scale;
    return true;
}

/* One query of a head, in chunks of columns whose sums are held in an array. */
static void row_run(const row *r, float *out) {
    enum { CHUNK = 64 };
    const size_t dv = r->a->f32.dv;
    double max = -INFINITY, s;
    size_t slot;
    for (size_t key = r->sees.from; key < r->sees.to; key++)
        if (score(r, key, &slot, &s)) max = fmax(max, s);
    for (size_t from = 0; from < dv; from += CHUNK) {
        double total[CHUNK] = {0}, sum = 0;
        const size_t columns = eg__min(CHUNK, dv - from);
        for (size_t key = r->sees.from; key < r->sees.to; key++) {
            if (!score(r, key, &slot, &s)) continue;
            const double weight = exp(s - max);
            sum += weight;
            for (size_t c = 0; c < columns; c++)
                total[c] += weight * number(&r->a->v, slot, r->kv, from + c);
        }
        for (size_t c = 0; c < columns; c++) out[from + c] = sum == 0 ? 0 : (float)(total[c] / sum);
    }
}

void eg__attention_cached_f32_ref(const eg__attention_cached_f32_args *a) {
    const eg__attention_f32_args *f = &a->f32;
    const size_t rows = eg__attention_rows(f), group = f->heads / f->kv_heads;
    const size_t blocks = eg__attention_blocks(f, false);
    for (size_t item = f->first; item < f->first + f->count; item++) {
        const size_t first = item % blocks * EG__ATTENTION_ROWS, pair = item / blocks;
        const size_t sample = pair / f->kv_heads, kv = pair % f->kv_heads;
        const size_t length = eg__attention_length(f, sample);
        for (size_t i = first; i < eg__min(first + EG__ATTENTION_ROWS, rows); i++) {
            const size_t query = i / group, head = kv * group + i % group;
            const size_t at = sample * f->queries + query;
            const row r = {a, sample, kv, f->q + at * f->q_stride + head * f->d,
                           eg__attention_sees(f, length, query)};
            row_run(&r, f->out + at * f->out_stride + head * f->dv);
        }
    }
}
