/* attention_dq_f32 for any vector width: included by attention_dq_f32_<isa>.c after its simd header. The
 * weights are computed again, from the log-sum-exp of each row. */
#include "kernels/attention/attention_back.h"

typedef struct work {
    const eg__attention_f32_args *a;
    block b;
    size_t d_wide, dv_wide;
    float *q, *dy, *sums;                   /* rows */
    float *k_transposed, *k, *v_transposed; /* packed */
    float *s, *dp;
    float lse[ROWS], delta[ROWS];
} work;

static void work_open(const eg__attention_f32_args *a, work *w) {
    w->a = a;
    w->d_wide = eg__round_up(a->d, EG__PANEL);
    w->dv_wide = eg__round_up(a->dv, EG__PANEL);
    w->q = a->scratch;
    w->sums = w->q + ROWS * w->d_wide;
    w->dy = w->sums + ROWS * w->d_wide;
    w->k_transposed = w->dy + ROWS * w->dv_wide;
    w->k = w->k_transposed + KEYS * w->d_wide;
    w->v_transposed = w->k + KEYS * w->d_wide;
    w->s = w->v_transposed + KEYS * w->dv_wide;
    w->dp = w->s + ROWS * KEYS;
}

static void row_drop(const work *w, size_t r, size_t start, size_t n) {
    const float keep = (float)eg__attention_keep(w->a->dropout.limit);
    float *dp = w->dp + r * KEYS;
    for (size_t i = 0; i < n; i++) dp[i] = pair_drops(w->a, &w->b, r, start + i) ? 0 : dp[i] * keep;
}

/* Scores become the gradients of scores. */
INLINE void vectors_run(const int n, float *s, const float *dp, vf lse, vf delta) {
    vf p[LOCKSTEP];
    EACH_VECTOR(n) p[l] = vf_sub(vf_load(s + l * VF_N), lse);
    vf_exp_n(n, p);
    EACH_VECTOR(n)
    vf_store(s + l * VF_N, vf_mul(p[l], vf_sub(vf_load(dp + l * VF_N), delta)));
}
INLINE void row_run(const work *w, size_t r, size_t start, size_t n, size_t wide) {
    float *s = w->s + r * KEYS, *dp = w->dp + r * KEYS;
    if (w->a->mask) row_add_mask(row_mask(w->a, &w->b, r) + start, n, vf_set(1), s);
    row_hide(&w->b, r, start, wide, s);
    if (w->a->dropout.limit) row_drop(w, r, start, n);
    const vf lse = vf_set(w->lse[r]), delta = vf_set(w->delta[r]);
    size_t c = 0;
    for (; c + LOCKSTEP * VF_N <= wide; c += LOCKSTEP * VF_N)
        vectors_run(LOCKSTEP, s + c, dp + c, lse, delta);
    for (; c < wide; c += VF_N) vectors_run(1, s + c, dp + c, lse, delta);
}

static void keys_run(work *w, size_t start, size_t n) {
    const eg__attention_f32_args *a = w->a;
    const size_t at = w->b.sample * a->keys + start, wide = eg__round_up(n, EG__PANEL);
    const float *k = a->k + at * a->k_stride + w->b.kv * a->d;
    const rows see = rows_seeing(&w->b, start, start + n);
    const size_t m = see.end - see.first, first = see.first;
    pack_transposed(n, a->d, k, a->k_stride, w->k_transposed);
    pack_transposed(n, a->dv, a->v + at * a->v_stride + w->b.kv * a->dv, a->v_stride,
                    w->v_transposed);
    pack(n, a->d, k, a->k_stride, w->k);
    product(m, wide, a->d, w->q + first * w->d_wide, w->d_wide, w->k_transposed,
            w->s + first * KEYS, KEYS, false);
    product(m, wide, a->dv, w->dy + first * w->dv_wide, w->dv_wide, w->v_transposed,
            w->dp + first * KEYS, KEYS, false);
    for (size_t r = first; r < see.end; r++) row_run(w, r, start, n, wide);
    product(m, a->d, n, w->s + first * KEYS, KEYS, w->k, w->sums + first * w->d_wide, w->d_wide,
            true);
}

static void rows_store(const work *w) {
    const eg__attention_f32_args *a = w->a;
    const vf scale = vf_set(a->scale);
    for (size_t r = 0; r < w->b.rows; r++) {
        float *out = a->out + (w->b.sample * a->queries + w->b.query[r]) * a->out_stride +
                     w->b.head[r] * a->d;
        const float *sums = w->sums + r * w->d_wide;
        size_t c = 0;
        for (; c + VF_N <= a->d; c += VF_N) vf_store(out + c, vf_mul(vf_load(sums + c), scale));
        if (c < a->d) vf_store_part(out + c, vf_mul(vf_load(sums + c), scale), a->d - c);
    }
}

void SIMD(eg__attention_dq_f32)(const eg__attention_f32_args *a) {
    const size_t blocks = eg__attention_blocks(a, false);
    work w;
    work_open(a, &w);
    for (size_t item = a->first; item < a->first + a->count; item++) {
        block_open(a, item / blocks, item % blocks * ROWS, &w.b);
        rows_load(a, &w.b, a->q, a->q_stride, a->d, a->scale, w.q, w.d_wide);
        rows_load(a, &w.b, a->dy, a->dy_stride, a->dv, 1, w.dy, w.dv_wide);
        rows_sums(a, &w.b, w.lse, w.delta);
        memset(w.sums, 0, w.b.rows * w.d_wide * sizeof *w.sums);
        const size_t end = w.b.to[w.b.rows - 1], step = eg__attention_step(a);
        for (size_t key = w.b.from[0]; key < end; key += step)
            keys_run(&w, key, eg__min(step, end - key));
        rows_store(&w);
    }
}
