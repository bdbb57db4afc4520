/* The accesses of attention and rotary positions: blocks of rows and keys as attention_block.h cuts them. */
#include "profile/cache/cache_steps.h"

enum { ROWS = EG__ATTENTION_ROWS, KEYS = EG__ATTENTION_KEYS };
enum { TOGETHER = EG__ATTENTION_TOGETHER };
enum { Q, K, V, OUT, Y, D };

/* Addresses of the operands and of the parts of the scratch memory. */
typedef struct attention {
    const eg__cache_walk *w;
    const eg__step *step;
    const eg__attention_f32_args *a;
    size_t lanes, wide, v_wide; /* columns of a head, filled up */
    size_t sample, kv, group, first, rows;
    size_t leader; /* first of the row blocks that share keys */
    uint64_t at[D + 1], part[10];
} attention;

static size_t floats(size_t n) { return sizeof(float) * n; }

/* Row r of the block, in an operand with so many columns per head. */
static uint64_t row_at(const attention *x, unsigned operand, size_t r, size_t columns) {
    const size_t row = x->first + r;
    return x->at[operand] +
           floats((x->sample * x->a->queries + row / x->group) * x->step->operand[operand].stride +
                  (x->kv * x->group + row % x->group) * columns);
}
static uint64_t key_at(const attention *x, unsigned operand, size_t key, size_t columns) {
    return x->at[operand] +
           floats((x->sample * x->a->keys + key) * x->step->operand[operand].stride +
                  x->kv * columns);
}

/* The keys that row r sees. */
static eg__attention_span row_sees(const attention *x, size_t r) {
    return eg__attention_sees(x->a, x->a->keys, (x->first + r) / x->group);
}
/* The range of rows that see some of n keys. */
typedef struct seeing {
    size_t first, end;
} seeing;
static seeing rows_seeing(const attention *x, size_t key, size_t n) {
    seeing see = {0, x->rows};
    while (see.first < see.end && row_sees(x, see.first).to <= key) see.first++;
    while (see.end > see.first && row_sees(x, see.end - 1).from >= key + n) see.end--;
    return see;
}

static void rows_load(const attention *x, unsigned operand, size_t columns, uint64_t to,
                      size_t stride) {
    for (size_t r = 0; r < x->rows; r++)
        eg__cache_copy_row(x->w, row_at(x, operand, r, columns), to + floats(r * stride), columns,
                           x->lanes);
}
static void rows_store(const attention *x, size_t columns, uint64_t from, size_t stride) {
    for (size_t r = 0; r < x->rows; r++)
        eg__cache_copy_row(x->w, from + floats(r * stride), row_at(x, OUT, r, columns), columns,
                           x->lanes);
}
static void rows_sums(const attention *x) {
    for (size_t r = 0; r < x->rows; r++) {
        eg__cache_read_row(x->w, row_at(x, Y, r, x->a->dv), x->a->dv, x->lanes);
        eg__cache_read_row(x->w, row_at(x, D, r, x->a->dv), x->a->dv, x->lanes);
    }
}

/* ---- packing */
static void pack(const attention *x, size_t n, size_t columns, uint64_t from, size_t stride,
                 uint64_t to) {
    for (size_t column = 0; column < columns; column += EG__PANEL)
        for (size_t i = 0; i < n; i++, to += floats(EG__PANEL)) {
            eg__cache_read_row(x->w, from + floats(i * stride + column),
                               eg__min(EG__PANEL, columns - column), x->lanes);
            eg__cache_write_row(x->w, to, EG__PANEL, x->lanes);
        }
}
static void pack_transposed(const attention *x, size_t n, size_t columns, uint64_t from,
                            size_t stride, uint64_t to) {
    for (size_t i = 0; i < n; i += EG__PANEL, to += floats(EG__PANEL * columns)) {
        const eg__cache_move move = {
            eg__min(EG__PANEL, n - i), columns, from + floats(i * stride), to, stride, EG__PANEL};
        if (move.rows < EG__PANEL)
            eg__cache_write_row(x->w, to, EG__PANEL * columns, eg__cache_copy_lanes(x->w));
        eg__cache_transpose(x->w, eg__min(x->lanes, 8), &move);
    }
}

static void product(const attention *x, size_t m, size_t n, size_t k, uint64_t a, size_t a_stride,
                    uint64_t b, uint64_t c, size_t c_stride, bool add) {
    const eg__cache_product p = {m, n, k, a, b, c, a_stride, c_stride, add};
    eg__cache_product_run(x->w, x->lanes, &p);
}

/* Scores to weights, in place: once for the largest, once for the exponentials. */
static void weigh(const attention *x, size_t m, size_t n, uint64_t s, size_t stride,
                  unsigned reads) {
    for (size_t r = 0; r < m; r++) {
        const uint64_t row = s + floats(r * stride);
        for (unsigned i = 1; i < reads; i++) eg__cache_read_row(x->w, row, n, x->lanes);
        eg__cache_copy_row(x->w, row, row, n, x->lanes);
    }
}

/* ---- one item */

/* Scratch of the forward kernel: keys, values, scores, and the queries and sums of the items that
 * share keys. */
static uint64_t queries_of(const attention *x) {
    const size_t number = x->first / ROWS - x->leader;
    return x->part[3] + floats(number * ROWS * (x->wide + x->v_wide));
}
static uint64_t sums_of(const attention *x) { return queries_of(x) + floats(ROWS * x->wide); }

/* One or two rows read keys and values in place. */
enum { FEW = 2 }; /* as in attention_f32_body.h */
static void item_few(const attention *x, size_t key, size_t n) {
    const eg__attention_f32_args *a = x->a;
    const uint64_t s = x->part[2], sums = sums_of(x);
    for (size_t r = 0; r < x->rows; r++)
        for (size_t i = 0; i < n; i++) {
            eg__cache_read_row(x->w, queries_of(x) + floats(r * x->wide), a->d, x->lanes);
            eg__cache_read_row(x->w, key_at(x, K, key + i, a->d), a->d, x->lanes);
            eg__cache_write(x->w, s + floats(r * KEYS + i), 1);
        }
    weigh(x, x->rows, eg__round_up(n, EG__PANEL), s, KEYS, 2);
    for (size_t r = 0; r < x->rows; r++) {
        for (size_t i = 0; i < n; i++) {
            eg__cache_read(x->w, s + floats(r * KEYS + i), 1);
            eg__cache_read_row(x->w, key_at(x, V, key + i, a->dv), a->dv, x->lanes);
        }
        eg__cache_copy_row(x->w, sums + floats(r * x->v_wide), sums + floats(r * x->v_wide), a->dv,
                           x->lanes);
    }
}

static void keys_pack(const attention *x, size_t key, size_t n) {
    const eg__attention_f32_args *a = x->a;
    pack_transposed(x, n, a->d, key_at(x, K, key, a->d), x->step->operand[K].stride, x->part[0]);
    pack(x, n, a->dv, key_at(x, V, key, a->dv), x->step->operand[V].stride, x->part[1]);
}
static void item_forward(const attention *x, size_t key, size_t n) {
    const eg__attention_f32_args *a = x->a;
    const seeing see = rows_seeing(x, key, n);
    const size_t wide = eg__round_up(n, EG__PANEL), m = see.end - see.first;
    const uint64_t s = x->part[2] + floats(see.first * KEYS);
    product(x, m, wide, a->d, queries_of(x) + floats(see.first * x->wide), x->wide, x->part[0], s,
            KEYS, false);
    weigh(x, m, wide, s, KEYS, 2);
    product(x, m, a->dv, n, s, KEYS, x->part[1], sums_of(x) + floats(see.first * x->v_wide),
            x->v_wide, true);
}

static void item_dq(const attention *x, size_t key, size_t n) {
    const eg__attention_f32_args *a = x->a;
    const seeing see = rows_seeing(x, key, n);
    const size_t wide = eg__round_up(n, EG__PANEL), m = see.end - see.first;
    const uint64_t s = x->part[6] + floats(see.first * KEYS),
                   dp = x->part[7] + floats(see.first * KEYS);
    const uint64_t k = key_at(x, K, key, a->d);
    pack_transposed(x, n, a->d, k, x->step->operand[K].stride, x->part[3]);
    pack_transposed(x, n, a->dv, key_at(x, V, key, a->dv), x->step->operand[V].stride, x->part[5]);
    pack(x, n, a->d, k, x->step->operand[K].stride, x->part[4]);
    product(x, m, wide, a->d, x->part[0] + floats(see.first * x->wide), x->wide, x->part[3], s,
            KEYS, false);
    product(x, m, wide, a->dv, x->part[2] + floats(see.first * x->v_wide), x->v_wide, x->part[5],
            dp, KEYS, false);
    weigh(x, m, wide, s, KEYS, 1);
    for (size_t r = 0; r < m; r++) eg__cache_read_row(x->w, dp + floats(r * KEYS), wide, x->lanes);
    product(x, m, a->d, n, s, KEYS, x->part[4], x->part[1] + floats(see.first * x->wide), x->wide,
            true);
}

/* Keys `key` .. of the item, and one block of rows. */
static void item_dkv(const attention *x, size_t key, size_t n) {
    const eg__attention_f32_args *a = x->a;
    const uint64_t *p = x->part;
    const size_t m = x->rows, wide = eg__round_up(m, EG__PANEL);
    rows_load(x, Q, a->d, p[0], x->wide);
    pack_transposed(x, m, a->d, p[0], x->wide, p[1]);
    pack(x, m, a->d, p[0], x->wide, p[2]);
    rows_load(x, D, a->dv, p[0], x->v_wide);
    pack_transposed(x, m, a->dv, p[0], x->v_wide, p[3]);
    pack(x, m, a->dv, p[0], x->v_wide, p[4]);
    rows_sums(x);
    product(x, n, wide, a->d, key_at(x, K, key, a->d), x->step->operand[K].stride, p[1], p[7], ROWS,
            false);
    product(x, n, wide, a->dv, key_at(x, V, key, a->dv), x->step->operand[V].stride, p[3], p[8],
            ROWS, false);
    weigh(x, n, wide, p[7], ROWS, 1);
    weigh(x, n, wide, p[8], ROWS, 1);
    product(x, n, a->dv, m, p[7], ROWS, p[4], p[6], x->v_wide, true);
    product(x, n, a->d, m, p[8], ROWS, p[2], p[5], x->wide, true);
}

/* ---- steps */
static void lay_out(attention *x, size_t count, const size_t *sizes) {
    uint64_t at = x->w->scratch;
    for (size_t i = 0; i < count; i++) {
        x->part[i] = at;
        at += floats(sizes[i]);
    }
}

/* A block of rows, by its number within all blocks. */
static void block_open(attention *x, size_t item) {
    const eg__attention_f32_args *a = x->a;
    const size_t blocks = eg__attention_blocks(a, false), pair = item / blocks;
    x->sample = pair / a->kv_heads;
    x->kv = pair % a->kv_heads;
    x->first = item % blocks * ROWS;
    x->rows = eg__min(ROWS, eg__attention_rows(a) - x->first);
}

/* Keys key .. key+step-1, for all items that share them. */
static void keys_forward(attention *x, size_t item, size_t count, size_t key, size_t step) {
    size_t packed = 0;
    for (size_t i = 0; i < count; i++) {
        block_open(x, item + i);
        const size_t to = row_sees(x, x->rows - 1).to;
        if (to <= key || row_sees(x, 0).from >= key + step) continue;
        const size_t n = eg__min(step, to - key);
        if (x->rows <= FEW) {
            item_few(x, key, n);
            continue;
        }
        if (n != packed) keys_pack(x, key, n);
        packed = n;
        item_forward(x, key, n);
    }
}
static void run_forward(attention *x, size_t item, size_t count) {
    const eg__attention_f32_args *a = x->a;
    const size_t step = eg__attention_step(a);
    x->leader = item % eg__attention_blocks(a, false);
    for (size_t i = 0; i < count; i++) {
        block_open(x, item + i);
        rows_load(x, Q, a->d, queries_of(x), x->wide);
        eg__cache_write_row(x->w, sums_of(x), x->rows * x->v_wide, eg__cache_copy_lanes(x->w));
    }
    const size_t end = row_sees(x, x->rows - 1).to;
    block_open(x, item);
    for (size_t key = row_sees(x, 0).from / step * step; key < end; key += step)
        keys_forward(x, item, count, key, step);
    for (size_t i = 0; i < count; i++) {
        block_open(x, item + i);
        rows_store(x, a->dv, sums_of(x), x->v_wide);
    }
}

/* All keys, for each block of rows. */
static void run_dq(attention *x, size_t item) {
    const eg__attention_f32_args *a = x->a;
    block_open(x, item);
    rows_load(x, Q, a->d, x->part[0], x->wide);
    rows_load(x, D, a->dv, x->part[2], x->v_wide);
    rows_sums(x);
    eg__cache_write_row(x->w, x->part[1], x->rows * x->wide, eg__cache_copy_lanes(x->w));
    const size_t to = row_sees(x, x->rows - 1).to, step = eg__attention_step(a);
    for (size_t key = row_sees(x, 0).from; key < to; key += step)
        item_dq(x, key, eg__min(step, to - key));
    rows_store(x, a->d, x->part[1], x->wide);
}

static void run_keys(attention *x, size_t item) {
    const eg__attention_f32_args *a = x->a;
    const size_t blocks = eg__attention_blocks(a, true), pair = item / blocks;
    const size_t key = item % blocks * KEYS, n = eg__min(KEYS, a->keys - key);
    x->sample = pair / a->kv_heads;
    x->kv = pair % a->kv_heads;
    eg__cache_write_row(x->w, x->part[5], KEYS * (x->wide + x->v_wide), eg__cache_copy_lanes(x->w));
    for (x->first = 0; x->first < eg__attention_rows(a); x->first += ROWS) {
        x->rows = eg__min(ROWS, eg__attention_rows(a) - x->first);
        if (row_sees(x, x->rows - 1).to > key && row_sees(x, 0).from < key + n) item_dkv(x, key, n);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t out =
            x->at[OUT] + floats((x->sample * a->keys + key + i) * x->step->operand[OUT].stride);
        eg__cache_copy_row(x->w, x->part[5] + floats(i * x->wide), out + floats(x->kv * a->d), a->d,
                           eg__cache_copy_lanes(x->w));
        eg__cache_copy_row(x->w, x->part[6] + floats(i * x->v_wide),
                           out + floats(a->kv_heads * a->d + x->kv * a->dv), a->dv,
                           eg__cache_copy_lanes(x->w));
    }
}

void eg__cache_step_attention(const eg__cache_walk *w, const eg__step *step) {
    const eg__attention_f32_args *a = &step->u.attention.args;
    const bool forward = step->kind == EG__STEP_attention,
               by_keys = step->kind == EG__STEP_attention_dkv;
    attention x = {.w = w,
                   .step = step,
                   .a = a,
                   .lanes = eg__cache_lanes(w, EG__OP_attention_f32),
                   .wide = eg__round_up(a->d, EG__PANEL),
                   .v_wide = eg__round_up(a->dv, EG__PANEL),
                   .group = a->heads / a->kv_heads};
    const size_t d = x.wide, v = x.v_wide, square = ROWS * KEYS;
    for (unsigned i = 0; i < (forward ? Y : D + 1); i++)
        x.at[i] = eg__cache_at(w, &step->operand[i]);
    if (forward) lay_out(&x, 4, (size_t[]){KEYS * d, KEYS * v, square, TOGETHER * ROWS * (d + v)});
    else if (by_keys)
        lay_out(&x, 9,
                (size_t[]){ROWS * eg__max(d, v), ROWS * d, ROWS * d, ROWS * v, ROWS * v, KEYS * d,
                           KEYS * v, square, square});
    else
        lay_out(
            &x, 8,
            (size_t[]){ROWS * d, ROWS * d, ROWS * v, KEYS * d, KEYS * d, KEYS * v, square, square});
    const size_t blocks = eg__attention_blocks(a, by_keys);
    for (size_t item = 0, count = 1; item < w->count; item += count) {
        if (forward) count = eg__min(eg__min(TOGETHER, w->count - item), blocks - item % blocks);
        if (forward) run_forward(&x, item, count);
        else if (by_keys) run_keys(&x, item);
        else run_dq(&x, item);
    }
}

void eg__cache_step_rotary(const eg__cache_walk *w, const eg__step *step) {
    const eg__step_rotary *r = &step->u.rotary;
    const size_t lanes = eg__cache_lanes(w, EG__OP_rotary_f32);
    const uint64_t frequency = eg__cache_at(w, &step->operand[2]);
    const uint64_t sine = w->scratch + floats(eg__round_up(r->d, 16));
    for (size_t row = 0; row < w->count * step->rows; row++) {
        eg__cache_read_row(w, frequency, r->d / 2, lanes);
        eg__cache_write_row(w, w->scratch, r->d / 2, lanes);
        eg__cache_write_row(w, sine, r->d / 2, lanes);
        for (size_t head = 0; head < r->heads; head++) {
            eg__cache_read_row(w, w->scratch, r->d / 2, lanes);
            eg__cache_read_row(w, sine, r->d / 2, lanes);
            eg__cache_copy_row(w,
                               eg__cache_at(w, &step->operand[0]) +
                                   floats(row * step->operand[0].stride + head * r->d),
                               eg__cache_at(w, &step->operand[1]) +
                                   floats(row * step->operand[1].stride + head * r->d),
                               r->d, lanes);
        }
    }
}
