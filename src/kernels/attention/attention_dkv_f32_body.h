/* attention_dkv_f32 for any vector width: included by attention_dkv_f32_<isa>.c after its simd
 * header. Everything is transposed: a row of scores belongs to a key, its columns to the block's
 * rows. */
#include "kernels/attention/attention_back.h"

typedef struct work {
    const eg__attention_f32_args *a;
    block b;
    size_t start, n; /* keys of the item */
    size_t d_wide, dv_wide;
    float *rows;                                  /* of q, then of d */
    float *q_transposed, *q, *dy_transposed, *dy; /* packed */
    float *s, *dp, *extra, *dk, *dv; /* [KEYS][..]; extra: the mask, or what is dropped */
    float lse[ROWS], delta[ROWS], from[ROWS], to[ROWS]; /* of the columns */
} work;

static void work_open(const eg__attention_f32_args *a, work *w) {
    w->a = a;
    w->d_wide = eg__round_up(a->d, EG__PANEL);
    w->dv_wide = eg__round_up(a->dv, EG__PANEL);
    w->rows = a->scratch;
    w->q_transposed = w->rows + ROWS * eg__max(w->d_wide, w->dv_wide);
    w->q = w->q_transposed + ROWS * w->d_wide;
    w->dy_transposed = w->q + ROWS * w->d_wide;
    w->dy = w->dy_transposed + ROWS * w->dv_wide;
    w->dk = w->dy + ROWS * w->dv_wide;
    w->dv = w->dk + KEYS * w->d_wide;
    w->s = w->dv + KEYS * w->dv_wide;
    w->dp = w->s + ROWS * KEYS;
    w->extra = w->dp + ROWS * KEYS;
}

/* The rows of a block as right sides of products. */
static void block_pack(work *w) {
    const eg__attention_f32_args *a = w->a;
    const size_t m = w->b.rows;
    rows_load(a, &w->b, a->q, a->q_stride, a->d, a->scale, w->rows, w->d_wide);
    pack_transposed(m, a->d, w->rows, w->d_wide, w->q_transposed);
    pack(m, a->d, w->rows, w->d_wide, w->q);
    rows_load(a, &w->b, a->dy, a->dy_stride, a->dv, 1, w->rows, w->dv_wide);
    pack_transposed(m, a->dv, w->rows, w->dv_wide, w->dy_transposed);
    pack(m, a->dv, w->rows, w->dv_wide, w->dy);
    rows_sums(a, &w->b, w->lse, w->delta);
    for (size_t r = 0; r < ROWS; r++) { /* counted from the first key of the item */
        const size_t from = r < m ? w->b.from[r] : 0, to = r < m ? w->b.to[r] : 0;
        w->from[r] = from > w->start ? (float)eg__min(from - w->start, w->n) : 0;
        w->to[r] = to > w->start ? (float)eg__min(to - w->start, w->n) : 0;
    }
}

static void mask_turn(const work *w, size_t wide) {
    for (size_t i = 0; i < w->n; i++)
        for (size_t r = 0; r < wide; r++)
            w->extra[i * ROWS + r] = r < w->b.rows ? row_mask(w->a, &w->b, r)[w->start + i] : 0;
    for (size_t i = 0; i < w->n * ROWS; i += ROWS)
        for (size_t c = i; c < i + wide; c += VF_N)
            vf_store(w->s + c, mask_add(vf_load(w->s + c), vf_load(w->extra + c), vf_set(1)));
}

static void drop_fill(const work *w) {
    const float keep = (float)eg__attention_keep(w->a->dropout.limit);
    for (size_t i = 0; i < w->n; i++)
        for (size_t r = 0; r < w->b.rows; r++)
            w->extra[i * ROWS + r] = pair_drops(w->a, &w->b, r, w->start + i) ? 0 : keep;
}

/* Scores of one key become weights, and the gradients of weights those of scores. */
INLINE void vectors_run(const int n, const work *w, size_t key, size_t c, bool drops) {
    float *s = w->s + key * ROWS + c, *dp = w->dp + key * ROWS + c;
    const float *keep = w->extra + key * ROWS + c;
    const vf at = vf_set((float)key), hidden = vf_set(-INFINITY);
    vf p[LOCKSTEP];
    EACH_VECTOR(n) {
        p[l] = vf_select(vf_lt(at, vf_load(w->to + c + l * VF_N)), vf_load(s + l * VF_N), hidden);
        p[l] = vf_select(vf_lt(at, vf_load(w->from + c + l * VF_N)), hidden, p[l]);
        p[l] = vf_sub(p[l], vf_load(w->lse + c + l * VF_N));
    }
    vf_exp_n(n, p);
    EACH_VECTOR(n) {
        const vf kept = drops ? vf_load(keep + l * VF_N) : vf_set(1);
        const vf d = vf_sub(vf_mul(vf_load(dp + l * VF_N), kept), vf_load(w->delta + c + l * VF_N));
        vf_store(dp + l * VF_N, vf_mul(p[l], d));
        vf_store(s + l * VF_N, vf_mul(p[l], kept));
    }
}

static void block_run(work *w) {
    const eg__attention_f32_args *a = w->a;
    const size_t at = w->b.sample * a->keys + w->start, m = w->b.rows, n = w->n;
    const size_t wide = eg__round_up(m, EG__PANEL);
    const bool drops = a->dropout.limit != 0;
    block_pack(w);
    product(n, wide, a->d, a->k + at * a->k_stride + w->b.kv * a->d, a->k_stride, w->q_transposed,
            w->s, ROWS, false);
    product(n, wide, a->dv, a->v + at * a->v_stride + w->b.kv * a->dv, a->v_stride,
            w->dy_transposed, w->dp, ROWS, false);
    if (a->mask) mask_turn(w, wide);
    if (drops) drop_fill(w);
    for (size_t key = 0; key < n; key++) {
        size_t c = 0;
        for (; c + LOCKSTEP * VF_N <= wide; c += LOCKSTEP * VF_N)
            vectors_run(LOCKSTEP, w, key, c, drops);
        for (; c < wide; c += VF_N) vectors_run(1, w, key, c, drops);
    }
    product(n, a->dv, m, w->s, ROWS, w->dy, w->dv, w->dv_wide, true);
    product(n, a->d, m, w->dp, ROWS, w->q, w->dk, w->d_wide, true);
}

static void keys_store(const work *w, size_t sample, size_t kv) {
    const eg__attention_f32_args *a = w->a;
    for (size_t i = 0; i < w->n; i++) {
        float *out = a->out + (sample * a->keys + w->start + i) * a->out_stride;
        memcpy(out + kv * a->d, w->dk + i * w->d_wide, a->d * sizeof *out);
        memcpy(out + a->kv_heads * a->d + kv * a->dv, w->dv + i * w->dv_wide, a->dv * sizeof *out);
    }
}

void SIMD(eg__attention_dkv_f32)(const eg__attention_f32_args *a) {
    const size_t blocks = eg__attention_blocks(a, true), all = eg__attention_rows(a);
    work w;
    work_open(a, &w);
    for (size_t item = a->first; item < a->first + a->count; item++) {
        const size_t pair = item / blocks;
        w.start = item % blocks * KEYS;
        w.n = eg__min(KEYS, a->keys - w.start);
        memset(w.dk, 0, KEYS * (w.d_wide + w.dv_wide) * sizeof *w.dk);
        for (size_t first = 0; first < all; first += ROWS) {
            block_open(a, pair, first, &w.b);
            const rows see = rows_seeing(&w.b, w.start, w.start + w.n);
            if (see.first < see.end) block_run(&w);
        }
        keys_store(&w, pair / a->kv_heads, pair % a->kv_heads);
    }
}
