/* attention_f32 for any vector width: included by attention_f32_<isa>.c after its simd header. */
#include "kernels/attention_online.h"

/* ---- a row or two, as when one word follows another: packing would take longer than reading once */
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
    for (size_t r = 0; r < w->b.rows; r++) row_run(w, r, start, n, eg__round_up(n, EG__PANEL));
    for (size_t r = 0; w->a->dropout.limit && r < w->b.rows; r++) row_drop(w, r, start, n);
    values_few(w, v, n);
}

static void keys_run(work *w, size_t start, size_t n) {
    const eg__attention_f32_args *a = w->a;
    const size_t at = w->b.sample * a->keys + start;
    const float *k = a->k + at * a->k_stride + w->b.kv * a->d;
    const float *v = a->v + at * a->v_stride + w->b.kv * a->dv;
    if (w->b.rows <= FEW) keys_few(w, start, n, k, v);
    else keys_many(w, start, n, k, a->k_stride, v, a->v_stride);
}

static void rows_store(const work *w) {
    const eg__attention_f32_args *a = w->a;
    for (size_t r = 0; r < w->b.rows; r++) {
        float *out =
            a->out + (w->b.sample * a->queries + (w->b.first + r) / w->b.group) * a->out_stride;
        const size_t head = row_store(w, r, out);
        out[a->heads * a->dv + head] =
            w->total[r] == 0 ? EG__ATTENTION_BLIND : w->max[r] * LN2 + logf(w->total[r]);
    }
}

void SIMD(eg__attention_f32)(const eg__attention_f32_args *a) {
    const size_t blocks = eg__attention_blocks(a, false);
    work w;
    work_open(a, &w);
    for (size_t item = a->first; item < a->first + a->count; item++) {
        block_open(a, item / blocks, item % blocks * ROWS, &w.b);
        rows_begin(&w);
        const size_t end = w.b.to[w.b.rows - 1], step = eg__attention_step(a);
        for (size_t key = w.b.from[0]; key < end; key += step)
            keys_run(&w, key, eg__min(step, end - key));
        rows_store(&w);
    }
}
