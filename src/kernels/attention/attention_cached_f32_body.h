/* attention_cached_f32 for any vector width: included by attention_cached_f32_<isa>.c after its
 * simd header and vf_sums. A few rows (one token of a decoder, all heads that share
 * keys) read the cache in place, each element once for four rows; for many rows, a block of keys is
 * widened and packed as attention_f32 does. */
#include "kernels/attention/attention_online.h"

/* int8 without the scale: it is per head and is applied to the scores or the weights */
INLINE vf numbers(const eg_type type, const char *from, size_t at) {
    return type == EG_F16  ? vf_load_f16(from + 2 * at)
           : type == EG_I8 ? vf_load_i8(from + at)
                           : vf_load((const float *)(const void *)from + at);
}
INLINE vf numbers_part(const eg_type type, const char *from, size_t at, size_t n) {
    const size_t number = type == EG_F16 ? 2 : type == EG_I8 ? 1 : 4;
    char buffer[VF_N * sizeof(float)] = {0};
    memcpy(buffer, from + at * number, n * number);
    return numbers(type, buffer, 0);
}

/* Contiguous keys of the cache, and where their scores go. */
typedef struct piece {
    const eg__kv_side *side;
    size_t slot, kv, count, at;
} piece;
INLINE const char *piece_row(const piece *p, size_t i) {
    return eg__kv_head(p->side, p->slot + i, p->kv);
}

/* ---- few rows: scores */

/* Sums across vectors, four at once: of four rows, or of four keys. */
INLINE void scores_store(const int m, const int keys, float *s, size_t n, vf sum[4][4]) {
    float four[4];
    if (m == 4) EACH_VECTOR(keys) {
            vf_sums(sum[0][l], sum[1][l], sum[2][l], sum[3][l], four);
            for (size_t k = 0; (size_t)l < n && k < 4; k++) s[k * KEYS + (size_t)l] = four[k];
        }
    UNROLL
    for (int k = 0; m < 4 && k < m; k++) { /* four keys */
        vf_sums(sum[k][0], sum[k][1], sum[k][2], sum[k][3], four);
        memcpy(s + (size_t)k * KEYS, four, n * sizeof *four);
    }
}

INLINE void scores_add(const int m, const int keys, const work *w, const float *q, const vf *x,
                       vf sum[4][4]) {
    UNROLL
    for (int k = 0; k < m; k++) {
        const vf left = vf_load(q + (size_t)k * w->d_wide);
        EACH_VECTOR(keys) sum[k][l] = vf_fma(left, x[l], sum[k][l]);
    }
}

INLINE void scores_of(const eg_type type, const int m, const int keys, const work *w, size_t r,
                      const piece *p) {
    const size_t d = w->a->d, whole = d - d % VF_N;
    const float *q = w->q + r * w->d_wide;
    for (size_t i = 0; i < p->count; i += (size_t)keys) {
        const char *row[4];
        vf sum[4][4], x[4];
        for (int l = 0; l < keys; l++) row[l] = piece_row(p, eg__min(i + (size_t)l, p->count - 1));
        UNROLL
        for (int k = 0; k < m; k++) EACH_VECTOR(keys) sum[k][l] = vf_zero();
        for (size_t c = 0; c < whole; c += VF_N) {
            EACH_VECTOR(keys) x[l] = numbers(type, row[l], c);
            scores_add(m, keys, w, q + c, x, sum);
        }
        if (whole < d) {
            EACH_VECTOR(keys) x[l] = numbers_part(type, row[l], whole, d - whole);
            scores_add(m, keys, w, q + whole, x, sum);
        }
        scores_store(m, keys, w->s + r * KEYS + p->at + i, eg__min((size_t)keys, p->count - i),
                     sum);
    }
}
INLINE void scores_typed(const eg_type type, const work *w, const piece *p) {
    size_t r = 0;
    for (; r + 4 <= w->b.rows; r += 4) scores_of(type, 4, 2, w, r, p);
    for (; r + 2 <= w->b.rows; r += 2) scores_of(type, 2, 4, w, r, p);
    if (r < w->b.rows) scores_of(type, 1, 4, w, r, p);
}

/* ---- few rows: sums of values */
INLINE void columns_of(const eg_type type, const int m, const int vectors, const work *w, size_t r,
                       const piece *p, size_t c, size_t part) {
    float *sums = w->sums + r * w->dv_wide + c;
    const float *s = w->s + r * KEYS + p->at;
    vf sum[4][4], x[4];
    UNROLL
    for (int k = 0; k < m; k++)
        EACH_VECTOR(vectors) sum[k][l] = vf_load(sums + (size_t)k * w->dv_wide + l * VF_N);
    for (size_t i = 0; i < p->count; i++) {
        const char *row = piece_row(p, i);
        EACH_VECTOR(vectors)
        x[l] = part ? numbers_part(type, row, c, part) : numbers(type, row, c + (size_t)l * VF_N);
        UNROLL
        for (int k = 0; k < m; k++) {
            const vf weight = vf_broadcast(s + (size_t)k * KEYS + i);
            EACH_VECTOR(vectors) sum[k][l] = vf_fma(weight, x[l], sum[k][l]);
        }
    }
    UNROLL
    for (int k = 0; k < m; k++)
        EACH_VECTOR(vectors) vf_store(sums + (size_t)k * w->dv_wide + l * VF_N, sum[k][l]);
}
INLINE void values_of(const eg_type type, const int m, const int vectors, const work *w, size_t r,
                      const piece *p) {
    const size_t dv = w->a->dv, step = (size_t)vectors * VF_N;
    size_t c = 0;
    for (; c + step <= dv; c += step) columns_of(type, m, vectors, w, r, p, c, 0);
    for (; c + VF_N <= dv; c += VF_N) columns_of(type, m, 1, w, r, p, c, 0);
    if (c < dv) columns_of(type, m, 1, w, r, p, c, dv - c);
}
INLINE void values_typed(const eg_type type, const work *w, const piece *p) {
    size_t r = 0;
    for (; r + 4 <= w->b.rows; r += 4) values_of(type, 4, 2, w, r, p);
    for (; r + 2 <= w->b.rows; r += 2) values_of(type, 2, 4, w, r, p);
    if (r < w->b.rows) values_of(type, 1, 4, w, r, p);
}

/* int8: multiplies the rows by `scale`. */
static void rows_scale(const work *w, const piece *p) {
    if (p->side->rows.type != EG_I8) return;
    for (size_t i = 0; i < p->count; i++) {
        const float scale = *eg__kv_head_scale(p->side, p->slot + i, p->kv);
        for (size_t r = 0; r < w->b.rows; r++) w->s[r * KEYS + p->at + i] *= scale;
    }
}

static void scores_few(const work *w, const piece *p) {
    if (p->side->rows.type == EG_F16) scores_typed(EG_F16, w, p);
    else if (p->side->rows.type == EG_I8) scores_typed(EG_I8, w, p);
    else scores_typed(EG_F32, w, p);
    rows_scale(w, p);
}
static void values_few(const work *w, const piece *p) {
    rows_scale(w, p);
    if (p->side->rows.type == EG_F16) values_typed(EG_F16, w, p);
    else if (p->side->rows.type == EG_I8) values_typed(EG_I8, w, p);
    else values_typed(EG_F32, w, p);
}

/* ---- many rows: widened */
INLINE void widen_typed(const eg_type type, const piece *p, float *to) {
    const size_t d = p->side->rows.d;
    for (size_t i = 0; i < p->count; i++) {
        const char *row = piece_row(p, i);
        const vf scale =
            vf_set(type == EG_I8 ? *eg__kv_head_scale(p->side, p->slot + i, p->kv) : 1);
        float *out = to + (p->at + i) * d;
        size_t c = 0;
        for (; c + VF_N <= d; c += VF_N) vf_store(out + c, vf_mul(numbers(type, row, c), scale));
        if (c < d) vf_store_part(out + c, vf_mul(numbers_part(type, row, c, d - c), scale), d - c);
    }
}
static void widen(const piece *p, float *to) {
    if (p->side->rows.type == EG_F16) widen_typed(EG_F16, p, to);
    else if (p->side->rows.type == EG_I8) widen_typed(EG_I8, p, to);
    else widen_typed(EG_F32, p, to);
}

/* ---- blocks of keys */
typedef struct reading {
    const eg__attention_cached_f32_args *a;
    size_t start, count; /* positions of mapped pages */
} reading;

/* The contiguous pieces of the keys or values; false at the end. */
static bool piece_next(const reading *x, const work *w, const eg__kv_side *side, piece *p) {
    const size_t at = p->side ? p->at + p->count : 0;
    if (at >= x->count) return false;
    const eg__kv_piece found = eg__kv_find(x->a, w->b.sample, x->start + at, x->start + x->count);
    *p = (piece){side, found.slot, w->b.kv, found.count, at};
    return true;
}

/* Rows of one head are far apart, which hardware prefetchers do not follow, so they are prefetched
 * here. `next`: rows of the next head. */
static void piece_fetch(const piece *p, bool next) {
    const size_t bytes = p->side->rows.d * p->side->rows.number;
    for (size_t i = 0; i < p->count; i++) {
        const char *row = piece_row(p, i) + (next ? bytes : 0);
        for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 0, 3);
    }
}

static void read_few(work *w, const reading *x) {
    for (piece p = {0}; piece_next(x, w, &x->a->v, &p);) piece_fetch(&p, false);
    for (piece p = {0}; piece_next(x, w, &x->a->k, &p);) scores_few(w, &p);
    for (piece p = {0}; piece_next(x, w, &x->a->k, &p);) piece_fetch(&p, true);
    rows_run(w, (rows){0, w->b.rows}, x->start, x->count);
    for (piece p = {0}; piece_next(x, w, &x->a->v, &p);) values_few(w, &p);
}

static void read_many(work *w, const reading *x) {
    float *k = w->sums + ROWS * w->dv_wide, *v = k + KEYS * w->d_wide;
    for (piece p = {0}; piece_next(x, w, &x->a->k, &p);) widen(&p, k);
    for (piece p = {0}; piece_next(x, w, &x->a->v, &p);) widen(&p, v);
    keys_pack(w, x->count, k, w->a->d, v, w->a->dv);
    keys_many(w, x->start, x->count);
}

/* Mapped positions from `start` on, at most one step; 0 = the page is not mapped. */
static size_t count_there(const eg__attention_cached_f32_args *a, size_t sample, size_t start,
                          size_t end) {
    size_t n = 0;
    while (start + n < end) {
        const eg__kv_piece found = eg__kv_find(a, sample, start + n, end);
        if (!found.there) break;
        n += found.count;
    }
    return n;
}

static void item_run(const eg__attention_cached_f32_args *a, work *w) {
    const size_t end = w->b.to[w->b.rows - 1], step = eg__attention_cached_step(&a->f32);
    for (size_t key = w->b.from[0]; key < end;) {
        const size_t limit = eg__min(end, key + step);
        const reading x = {a, key, count_there(a, w->b.sample, key, limit)};
        if (!x.count) {
            key += a->page - key % a->page;
            continue;
        }
        if (w->b.rows <= EG__ATTENTION_FEW) read_few(w, &x);
        else read_many(w, &x);
        key += x.count;
    }
}

void SIMD(eg__attention_cached_f32)(const eg__attention_cached_f32_args *a) {
    const eg__attention_f32_args *f = &a->f32;
    const size_t blocks = eg__attention_blocks(f, false);
    work w;
    work_open(f, 0, &w);
    for (size_t item = f->first; item < f->first + f->count; item++) {
        block_open(f, item / blocks, item % blocks * ROWS, &w.b);
        /* the padding is multiplied by zeros, so it must be finite */
        if (f->d % VF_N) memset(w.q, 0, w.b.rows * w.d_wide * sizeof *w.q);
        rows_begin(&w);
        item_run(a, &w);
        for (size_t r = 0; r < w.b.rows; r++)
            row_store(&w, r, f->out + (w.b.sample * f->queries + w.b.query[r]) * f->out_stride);
    }
}
