/* The accesses of attention over pages of a cache, and of rows appended to one. Pages and slots are
 * inputs, hence unknown: arbitrary ones are used, and all keys count. */
#include "profile/cache/cache_steps.h"

enum { ROWS = EG__ATTENTION_ROWS, KEYS = EG__ATTENTION_KEYS };
enum { Q, K, V, OUT, PAGES, LENGTHS, OPERANDS };

typedef struct cached {
    const eg__cache_walk *w;
    const eg__attention_cached_f32_args *a;
    const eg__operand *o;
    size_t lanes, wide, v_wide;
    size_t sample, kv, group, first, rows;
    uint64_t at[OPERANDS];
    uint64_t q, k, v, s, sums, k_wide, v_rows; /* in the scratch memory */
} cached;

static size_t floats(size_t n) { return sizeof(float) * n; }

/* Head `kv` of a position's row in the cache. */
static void read_numbers(const cached *x, unsigned operand, size_t position) {
    const eg__kv_rows *rows = operand == K ? &x->a->k.rows : &x->a->v.rows;
    const int64_t page =
        eg__cache_index(x->w, &x->o[PAGES], x->sample * x->a->pages_row + position / x->a->page,
                        rows->slots / x->a->page);
    if (page < 0 || (size_t)page >= rows->slots / x->a->page) return;
    const uint64_t row =
        x->at[operand] + ((size_t)page * x->a->page + position % x->a->page) * rows->size;
    const size_t bytes = rows->d * rows->number, step = x->lanes * rows->number;
    for (size_t i = 0; i < bytes; i += step)
        eg__cache_access(x->w->cache, row + x->kv * bytes + i, (unsigned)eg__min(step, bytes - i),
                         false);
    if (rows->type == EG_I8) eg__cache_read(x->w, row + rows->scales + floats(x->kv), 1);
}

static void weigh(const cached *x, size_t n) {
    for (size_t r = 0; r < x->rows; r++) {
        const uint64_t row = x->s + floats(r * KEYS);
        eg__cache_read_row(x->w, row, n, x->lanes);
        eg__cache_copy_row(x->w, row, row, n, x->lanes);
    }
}

/* Few rows: numbers are widened on the way. */
static void keys_few(const cached *x, size_t key, size_t n) {
    for (size_t i = 0; i < n; i++) {
        eg__cache_read_row(x->w, x->q, x->rows * x->wide, x->lanes);
        read_numbers(x, K, key + i);
        for (size_t r = 0; r < x->rows; r++) eg__cache_write(x->w, x->s + floats(r * KEYS + i), 1);
    }
    weigh(x, eg__round_up(n, EG__PANEL));
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < x->rows; r++) eg__cache_read(x->w, x->s + floats(r * KEYS + i), 1);
        read_numbers(x, V, key + i);
    }
    eg__cache_copy_row(x->w, x->sums, x->sums, x->rows * x->v_wide, x->lanes);
}

/* Many rows: a block of keys is widened, packed, and used by all of them. */
static void keys_many(const cached *x, size_t key, size_t n) {
    const eg__attention_f32_args *f = &x->a->f32;
    const size_t wide = eg__round_up(n, EG__PANEL);
    for (size_t i = 0; i < n; i++) {
        read_numbers(x, K, key + i);
        eg__cache_write_row(x->w, x->k_wide + floats(i * f->d), f->d, x->lanes);
        read_numbers(x, V, key + i);
        eg__cache_write_row(x->w, x->v_rows + floats(i * f->dv), f->dv, x->lanes);
    }
    eg__cache_copy_row(x->w, x->k_wide, x->k, n * f->d, x->lanes);
    eg__cache_copy_row(x->w, x->v_rows, x->v, n * f->dv, x->lanes);
    const eg__cache_product scores = {x->rows, wide, f->d, x->q, x->k, x->s, x->wide, KEYS, false};
    eg__cache_product_run(x->w, x->lanes, &scores);
    weigh(x, wide);
    const eg__cache_product sums = {x->rows, f->dv, n, x->s, x->v, x->sums, KEYS, x->v_wide, true};
    eg__cache_product_run(x->w, x->lanes, &sums);
}

static uint64_t row_at(const cached *x, unsigned operand, size_t r, size_t columns) {
    const size_t row = x->first + r;
    return x->at[operand] +
           floats((x->sample * x->a->f32.queries + row / x->group) * x->o[operand].stride +
                  (x->kv * x->group + row % x->group) * columns);
}

static void item_run(cached *x, size_t item) {
    const eg__attention_f32_args *f = &x->a->f32;
    const size_t blocks = eg__attention_blocks(f, false), pair = item / blocks;
    x->sample = pair / f->kv_heads;
    x->kv = pair % f->kv_heads;
    x->first = item % blocks * ROWS;
    x->rows = eg__min(ROWS, eg__attention_rows(f) - x->first);
    eg__cache_read(x->w, x->at[LENGTHS] + floats(x->sample), 1);
    for (size_t r = 0; r < x->rows; r++)
        eg__cache_copy_row(x->w, row_at(x, Q, r, f->d), x->q + floats(r * x->wide), f->d, x->lanes);
    const size_t from = eg__attention_sees(f, f->keys, x->first / x->group).from;
    const size_t to = eg__attention_sees(f, f->keys, (x->first + x->rows - 1) / x->group).to;
    const size_t step = eg__attention_cached_step(f);
    for (size_t page = from / x->a->page; page * x->a->page < to; page++)
        eg__cache_read(x->w, x->at[PAGES] + floats(x->sample * x->a->pages_row + page), 1);
    for (size_t key = from; key < to; key += step) {
        if (x->rows <= EG__ATTENTION_FEW) keys_few(x, key, eg__min(step, to - key));
        else keys_many(x, key, eg__min(step, to - key));
    }
    for (size_t r = 0; r < x->rows; r++)
        eg__cache_copy_row(x->w, x->sums + floats(r * x->v_wide), row_at(x, OUT, r, f->dv), f->dv,
                           x->lanes);
}

void eg__cache_step_attention_cached(const eg__cache_walk *w, const eg__step *step) {
    const eg__attention_cached_f32_args *a = &step->u.attention_cached.args;
    cached x = {.w = w,
                .a = a,
                .o = step->operand,
                .lanes = eg__cache_lanes(w, EG__OP_attention_cached_f32),
                .wide = eg__round_up(a->f32.d, EG__PANEL),
                .v_wide = eg__round_up(a->f32.dv, EG__PANEL),
                .group = a->f32.heads / a->f32.kv_heads,
                .k = w->scratch};
    for (unsigned i = 0; i < OPERANDS; i++) x.at[i] = eg__cache_at(w, &step->operand[i]);
    x.v = x.k + floats(KEYS * x.wide);
    x.s = x.v + floats(KEYS * x.v_wide);
    x.q = x.s + floats(ROWS * KEYS);
    x.sums = x.q + floats(ROWS * x.wide);
    x.k_wide = x.sums + floats(ROWS * x.v_wide);
    x.v_rows = x.k_wide + floats(KEYS * x.wide);
    for (size_t item = 0; item < w->count; item++) item_run(&x, item);
}

void eg__cache_step_append(const eg__cache_walk *w, const eg__step *step) {
    const eg__kv_rows *rows = &step->u.append.rows;
    const eg__operand *o = step->operand;
    for (size_t r = 0; r < step->rows; r++) {
        const int64_t slot = eg__cache_index(w, &o[1], r, rows->slots);
        eg__cache_read(w, eg__cache_at(w, &o[1]) + floats(r), 1);
        if (slot < 0 || (size_t)slot >= rows->slots) continue;
        eg__cache_read_row(w, eg__cache_at(w, &o[0]) + floats(r * o[0].stride), step->columns,
                           eg__cache_copy_lanes(w));
        eg__cache_write_row(w, eg__cache_at(w, &o[2]) + (size_t)slot * rows->size,
                            rows->size / sizeof(float), eg__cache_copy_lanes(w));
    }
}
