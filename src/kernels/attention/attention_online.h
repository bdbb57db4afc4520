/* Online softmax over blocks of keys: scores, their exponentials relative to the running maximum,
 * and their product with the values, added to sums that are rescaled when the maximum grows a lot.
 * Included after a simd header. */
#include "kernels/attention/attention_block.h"

#define LOG2E 1.44269504f
#define LN2   0.693147181f

/* Keys that are packed next. Their rows are far apart, which hardware prefetchers do not follow:
 * they are prefetched a few at a time while scores become weights. */
typedef struct fetch {
    const float *k, *v;
    size_t keys, each;
} fetch;

typedef struct work {
    const eg__attention_f32_args *a;
    block b;
    size_t d_wide, dv_wide;
    float *k, *v, *s; /* k and v are packed */
    float *q, *sums;
    fetch next;
    /* the reference that is subtracted from scores, and the sum of weights so far */
    float max[ROWS], total[ROWS];
} work;

/* Block i of the row blocks that share the packed keys and values, and its scores. */
static void work_open(const eg__attention_f32_args *a, size_t i, work *w) {
    w->a = a;
    w->d_wide = eg__round_up(a->d, EG__PANEL);
    w->dv_wide = eg__round_up(a->dv, EG__PANEL);
    w->k = a->scratch;
    w->v = w->k + KEYS * w->d_wide;
    w->s = w->v + KEYS * w->dv_wide;
    w->q = w->s + ROWS * KEYS + i * ROWS * (w->d_wide + w->dv_wide);
    w->sums = w->q + ROWS * w->d_wide;
    w->next.keys = 0;
}

/* 2^x for x of at most 100, -infinity too, within 2 ulp. Scores are in units of log2, because the
 * scale of the queries includes log2(e): that saves a third of the work of an exponential. */
INLINE void power2_n(const int n, vf *x) {
    vf k[LOCKSTEP], rounded[LOCKSTEP], p[LOCKSTEP];
    EACH_VECTOR(n) x[l] = vf_split(x[l], &k[l], &rounded[l]);
    EACH_VECTOR(n) p[l] = vf_fma(vf_set(0.00132647273f), x[l], vf_set(0.00967151299f));
    EACH_VECTOR(n) p[l] = vf_fma(p[l], x[l], vf_set(0.0555073358f));
    EACH_VECTOR(n) p[l] = vf_fma(p[l], x[l], vf_set(0.240222424f));
    EACH_VECTOR(n) p[l] = vf_fma(p[l], x[l], vf_set(0.693147004f));
    EACH_VECTOR(n) p[l] = vf_fma(p[l], x[l], vf_set(1.0f));
    EACH_VECTOR(n) x[l] = vf_scale(p[l], k[l], rounded[l]);
}

INLINE vf scores_max(size_t wide, const float *s) {
    vf part[LOCKSTEP];
    EACH_VECTOR(LOCKSTEP) part[l] = vf_set(EG__ATTENTION_HIDDEN);
    size_t c = 0;
    for (; c + LOCKSTEP * VF_N <= wide; c += LOCKSTEP * VF_N)
        EACH_VECTOR(LOCKSTEP) part[l] = vf_max(part[l], vf_load(s + c + l * VF_N));
    for (; c < wide; c += VF_N) part[0] = vf_max(part[0], vf_load(s + c));
    return vf_max(vf_max(part[0], part[1]), vf_max(part[2], part[3]));
}

INLINE vf scores_power2(size_t wide, float *s, vf max) {
    vf sum[LOCKSTEP], e[LOCKSTEP];
    EACH_VECTOR(LOCKSTEP) sum[l] = vf_zero();
    size_t c = 0;
    for (; c + LOCKSTEP * VF_N <= wide; c += LOCKSTEP * VF_N) {
        EACH_VECTOR(LOCKSTEP) e[l] = vf_sub(vf_load(s + c + l * VF_N), max);
        power2_n(LOCKSTEP, e);
        EACH_VECTOR(LOCKSTEP) vf_store(s + c + l * VF_N, e[l]);
        EACH_VECTOR(LOCKSTEP) sum[l] = vf_add(sum[l], e[l]);
    }
    for (; c < wide; c += VF_N) {
        e[0] = vf_sub(vf_load(s + c), max);
        power2_n(1, e);
        vf_store(s + c, e[0]);
        sum[0] = vf_add(sum[0], e[0]);
    }
    return vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]));
}

/* Hides and masks the scores of a row; returns the reference to subtract: the largest score, or the
 * old reference if that is not far below it. So sums are rarely rescaled, and no weight is above
 * 2^SLACK. */
enum { SLACK = 8 };
INLINE float row_max(work *w, size_t r, size_t start, size_t n, size_t wide) {
    float *s = w->s + r * KEYS;
    if (w->a->mask) row_add_mask(row_mask(w->a, &w->b, r) + start, n, vf_set(LOG2E), s);
    row_hide(&w->b, r, start, wide, s);
    if (n < wide && w->b.to[r] > start + n)
        hide(s, wide, 0, n); /* the next block is not the next keys */
    const float largest = vf_largest(scores_max(wide, s));
    return largest > w->max[r] + (float)SLACK ? largest : w->max[r];
}

static void row_shrink(work *w, size_t r, float max) {
    float *sums = w->sums + r * w->dv_wide, lane[VF_N];
    if (w->max[r] > EG__ATTENTION_HIDDEN) {
        vf shrink = vf_set(w->max[r] - max);
        power2_n(1, &shrink);
        for (size_t c = 0; c < w->dv_wide; c += VF_N)
            vf_store(sums + c, vf_mul(vf_load(sums + c), shrink));
        vf_store(lane, shrink);
        w->total[r] *= lane[0];
    }
    w->max[r] = max;
}

/* Turns the scores of several rows into weights. Finding the maximum of a row has a long latency,
 * which other rows fill. */
enum { ABREAST = 4 };
INLINE void rows_weigh(const size_t count, work *w, size_t r, size_t start, size_t n, size_t wide) {
    float max[ABREAST];
    for (size_t i = 0; i < count; i++) max[i] = row_max(w, r + i, start, n, wide);
    for (size_t i = 0; i < count; i++)
        if (max[i] > w->max[r + i]) row_shrink(w, r + i, max[i]);
    for (size_t i = 0; i < count; i++)
        w->total[r + i] += vf_sum(scores_power2(wide, w->s + (r + i) * KEYS, vf_set(max[i])));
}
INLINE void fetch_some(fetch *f, const eg__attention_f32_args *a) {
    const size_t line = 64 / sizeof(float);
    for (size_t i = eg__min(f->each, f->keys); i; i--, f->keys--) {
        for (size_t c = 0; c < a->d; c += line) __builtin_prefetch(f->k + c, 0, 2);
        for (size_t c = 0; c < a->dv; c += line) __builtin_prefetch(f->v + c, 0, 2);
        f->k += a->k_stride;
        f->v += a->v_stride;
    }
}
static void rows_run(work *w, rows see, size_t start, size_t n) {
    const size_t wide = eg__round_up(n, EG__PANEL);
    size_t r = see.first;
    for (; r + ABREAST <= see.end; r += ABREAST) {
        if (w->next.keys) fetch_some(&w->next, w->a);
        rows_weigh(ABREAST, w, r, start, n, wide);
    }
    for (; r < see.end; r++) rows_weigh(1, w, r, start, n, wide);
}

static void row_drop(const work *w, size_t r, size_t start, size_t n) {
    const float keep = (float)eg__attention_keep(w->a->dropout.limit);
    float *s = w->s + r * KEYS;
    for (size_t i = 0; i < n; i++) s[i] = pair_drops(w->a, &w->b, r, start + i) ? 0 : s[i] * keep;
}

/* Many rows: keys and values are packed, and products do the rest. */
static void keys_pack(const work *w, size_t n, const float *k, size_t k_stride, const float *v,
                      size_t v_stride) {
    pack_transposed(n, w->a->d, k, k_stride, w->k);
    pack(n, w->a->dv, v, v_stride, w->v);
}
static void keys_many(work *w, size_t start, size_t n) {
    const eg__attention_f32_args *a = w->a;
    const rows see = rows_seeing(&w->b, start, start + n);
    const size_t m = see.end - see.first, wide = eg__round_up(n, EG__PANEL);
    float *s = w->s + see.first * KEYS;
    product(m, wide, a->d, w->q + see.first * w->d_wide, w->d_wide, w->k, s, KEYS, false);
    rows_run(w, see, start, n);
    for (size_t r = see.first; a->dropout.limit && r < see.end; r++) row_drop(w, r, start, n);
    product(m, a->dv, n, s, KEYS, w->v, w->sums + see.first * w->dv_wide, w->dv_wide, true);
}

static void rows_begin(work *w) {
    const eg__attention_f32_args *a = w->a;
    rows_load(a, &w->b, a->q, a->q_stride, a->d, a->scale * LOG2E, w->q, w->d_wide);
    memset(w->sums, 0, w->b.rows * w->dv_wide * sizeof *w->sums);
    for (size_t r = 0; r < w->b.rows; r++) {
        w->max[r] = EG__ATTENTION_HIDDEN;
        w->total[r] = 0;
    }
}

/* Divides the sums of a row by the sum of its weights. */
INLINE void row_store(const work *w, size_t r, float *out) {
    const size_t dv = w->a->dv;
    const float *sums = w->sums + r * w->dv_wide, total = w->total[r];
    const vf factor = vf_set(total == 0 ? 0 : 1 / total);
    size_t c = 0;
    out += w->b.head[r] * dv;
    for (; c + VF_N <= dv; c += VF_N) vf_store(out + c, vf_mul(vf_load(sums + c), factor));
    if (c < dv) vf_store_part(out + c, vf_mul(vf_load(sums + c), factor), dv - c);
}
