/* attention_f32 for any vector width: included by attention_f32_<isa>.c after its simd header. */
#include "kernels/attention/attention_online.h"

/* ---- one or two rows, as in decoding token by token: packing would take longer than reading
 * once */
enum { FEW = 2 };

static void scores_few(const work *w, const float *k, size_t n) {
    const size_t d = w->a->d, stride = w->a->k_stride, whole = d - d % VF_N;
    for (size_t r = 0; r < w->b.rows; r++) {
        const float *q = w->q + r * w->d_wide;
        float *s = w->s + r * KEYS;
        for (size_t i = 0; i < n; i += LOCKSTEP) {
            const float *row[LOCKSTEP];
            vf sum[LOCKSTEP];
            EACH_VECTOR(LOCKSTEP) row[l] = k + eg__min(i + (size_t)l, n - 1) * stride;
            EACH_VECTOR(LOCKSTEP) sum[l] = vf_zero();
            for (size_t c = 0; c < whole; c += VF_N)
                EACH_VECTOR(LOCKSTEP) sum[l] = vf_fma(vf_load(q + c), vf_load(row[l] + c), sum[l]);
            if (whole < d) {
                const vf rest = vf_load_part(q + whole, d - whole);
                EACH_VECTOR(LOCKSTEP)
                sum[l] = vf_fma(rest, vf_load_part(row[l] + whole, d - whole), sum[l]);
            }
            EACH_VECTOR(LOCKSTEP) s[i + (size_t)l] = vf_sum(sum[l]); /* those beyond n are hidden */
        }
    }
}

INLINE void columns_few(const int vectors, const work *w, size_t r, size_t c, const float *v,
                        size_t n) {
    float *sums = w->sums + r * w->dv_wide + c;
    vf sum[LOCKSTEP];
    EACH_VECTOR(vectors) sum[l] = vf_load(sums + l * VF_N);
    for (size_t i = 0; i < n; i++) {
        const float *row = v + i * w->a->v_stride + c;
        const vf weight = vf_broadcast(w->s + r * KEYS + i);
        EACH_VECTOR(vectors) sum[l] = vf_fma(weight, vf_load(row + l * VF_N), sum[l]);
    }
    EACH_VECTOR(vectors) vf_store(sums + l * VF_N, sum[l]);
}
static void values_few(const work *w, const float *v, size_t n) {
    const size_t dv = w->a->dv;
    for (size_t r = 0; r < w->b.rows; r++) {
        size_t c = 0;
        for (; c + LOCKSTEP * VF_N <= dv; c += LOCKSTEP * VF_N)
            columns_few(LOCKSTEP, w, r, c, v, n);
        for (; c + VF_N <= dv; c += VF_N) columns_few(1, w, r, c, v, n);
        for (; c < dv; c++)
            for (size_t i = 0; i < n; i++)
                w->sums[r * w->dv_wide + c] += w->s[r * KEYS + i] * v[i * w->a->v_stride + c];
    }
}

static void keys_few(work *w, size_t start, size_t n, const float *k, const float *v) {
    scores_few(w, k, n);
    rows_run(w, (rows){0, w->b.rows}, start, n);
    for (size_t r = 0; w->a->dropout.limit && r < w->b.rows; r++) row_drop(w, r, start, n);
    values_few(w, v, n);
}

static const float *key_at(const work *w, size_t key) {
    return w->a->k + (w->b.sample * w->a->keys + key) * w->a->k_stride + w->b.kv * w->a->d;
}
static const float *value_at(const work *w, size_t key) {
    return w->a->v + (w->b.sample * w->a->keys + key) * w->a->v_stride + w->b.kv * w->a->dv;
}

/* Processes the keys from `start` to `end` for each of `count` blocks of rows, as far as they are
 * visible. */
static void keys_run(work *works, size_t count, size_t start, size_t end) {
    const eg__attention_f32_args *a = works->a;
    const float *k = key_at(works, start), *v = value_at(works, start);
    const size_t step = eg__attention_step(a), next = eg__min(start + step, end);
    const size_t next_keys = eg__min(step, end - next);
    size_t packed = 0;
    for (size_t i = 0; i < count; i++) {
        work *w = &works[i];
        const size_t to = w->b.to[w->b.rows - 1];
        if (to <= start || w->b.from[0] >= start + step) continue;
        const size_t n = eg__min(step, to - start);
        if (w->b.rows <= FEW) {
            keys_few(w, start, n, k, v);
            continue;
        }
        if (n != packed) keys_pack(w, n, k, a->k_stride, v, a->v_stride);
        packed = n;
        const size_t first = next_keys * i / count, last = next_keys * (i + 1) / count;
        w->next = (fetch){key_at(w, next + first), value_at(w, next + first), last - first,
                          eg__ceil_div(last - first, ROWS / ABREAST)};
        keys_many(w, start, n);
    }
}

static void rows_store(const work *w) {
    const eg__attention_f32_args *a = w->a;
    for (size_t r = 0; r < w->b.rows; r++) {
        float *out = a->out + (w->b.sample * a->queries + w->b.query[r]) * a->out_stride;
        row_store(w, r, out);
        out[a->heads * a->dv + w->b.head[r]] =
            w->total[r] == 0 ? EG__ATTENTION_BLIND : w->max[r] * LN2 + logf(w->total[r]);
    }
}

/* Blocks of rows from number `first` on, which share their keys. Keys are split at multiples of a
 * step (a power of 2), whatever the number of row blocks, so that a row's result does not depend on
 * the other rows. */
enum { TOGETHER = EG__ATTENTION_TOGETHER };
_Static_assert(KEYS + TOGETHER * ROWS <= 3 * (ROWS + KEYS), "fits eg__attention_scratch");
static void blocks_run(const eg__attention_f32_args *a, size_t pair, size_t first, size_t count) {
    const size_t step = eg__attention_step(a);
    work w[TOGETHER];
    size_t key = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        work_open(a, i, &w[i]);
        block_open(a, pair, (first + i) * ROWS, &w[i].b);
        rows_begin(&w[i]);
        if (i == 0) key = w[i].b.from[0] & ~(step - 1);
        end = w[i].b.to[w[i].b.rows - 1];
    }
    for (; key < end; key += step) keys_run(w, count, key, end);
    for (size_t i = 0; i < count; i++) rows_store(&w[i]);
}

void SIMD(eg__attention_f32)(const eg__attention_f32_args *a) {
    const size_t blocks = eg__attention_blocks(a, false), end = a->first + a->count;
    for (size_t item = a->first, count; item < end; item += count) {
        const size_t pair = item / blocks, first = item % blocks;
        count = eg__min(eg__min(TOGETHER, end - item), blocks - first);
        blocks_run(a, pair, first, count);
    }
}
