/* Every kernel of attention and rotary positions against the definition: heads, sizes and what is seen. */
#include "test_kernels.h"

#include <math.h>

AREA(attention_kernels, "attention, its gradients and rotary positions against the definition")

enum { Q, K, V, MASK, LENGTHS, Y, DY, WANT, GOT, WHOLE, SCRATCH };

typedef struct sizes {
    size_t samples, queries, keys, heads, kv_heads, d, dv, window;
    int causal, mask,
        lengths; /* mask: 1 [Tq, Tk], 2 [B, 1, Tk], 3 [B, Tq, Tk]; lengths: 1 i32, 2 f32 */
    double dropout;
} sizes;

static float *floats(unsigned slot, size_t n, uint64_t *state) {
    float *x = kernel_walled(slot, n * sizeof *x);
    kernel_random(n, x, state);
    return x;
}

/* Numbers within [-1, 1), with keys that are hidden from one query or, now and then, from all. */
static void add_mask(const sizes *s, eg__attention_f32_args *a, uint64_t *state) {
    const size_t rows = s->mask == 2 ? 1 : s->queries, samples = s->mask == 1 ? 1 : s->samples;
    float *mask = floats(MASK, samples * rows * s->keys, state);
    for (size_t r = 0; r < samples * rows; r++) {
        const bool blind = test_random(state) > 0.8f;
        for (size_t i = 0; i < s->keys; i++)
            if (blind || test_random(state) > 0.6f)
                mask[r * s->keys + i] = i % 2 ? -INFINITY : -1e30f;
    }
    a->mask = mask;
    a->mask_row = s->mask == 2 ? 0 : s->keys;
    a->mask_sample = s->mask == 1 ? 0 : rows * s->keys;
}

static void add_lengths(const sizes *s, eg__attention_f32_args *a, uint64_t *state) {
    float *lengths = kernel_walled(LENGTHS, s->samples * sizeof *lengths);
    for (size_t b = 0; b < s->samples; b++) {
        const int32_t n = (int32_t)((test_random(state) + 1) / 2 * (float)(s->keys + 3)) - 1;
        if (s->lengths == 1) memcpy(lengths + b, &n, sizeof n);
        else lengths[b] = (float)n;
    }
    a->lengths = lengths;
    a->lengths_are_i32 = s->lengths == 1;
}

static void run(const eg__kernel_function *f, eg__operation op, const eg__attention_f32_args *a) {
    if (op == EG__OP_attention_f32) f->attention_f32(a);
    else if (op == EG__OP_attention_dq_f32) f->attention_dq_f32(a);
    else f->attention_dkv_f32(a);
}

/* One operation, whose result by definition it returns: the definition once, then every kernel, its items in
 * one call and in pieces, which give the same bits. */
static const float *check_operation(const sizes *s, eg__operation op, eg__attention_f32_args *a,
                                    size_t rows, size_t columns) {
    const size_t stride = columns + 3, extent = kernel_extent(rows, columns, stride);
    float *want = kernel_walled(WANT, extent * sizeof *want);
    float *got = kernel_walled(GOT, extent * sizeof *got);
    float *whole = kernel_walled(WHOLE, extent * sizeof *whole);
    const size_t items =
        s->samples * s->kv_heads * eg__attention_blocks(a, op == EG__OP_attention_dkv_f32);
    const eg__kernel *row = NULL;
    while ((row = kernel_next(op, row)) && !kernel_is_ref(row)) {
    }
    a->out = want;
    a->out_stride = stride;
    a->first = 0;
    a->count = items;
    kernel_fill(extent, want, KERNEL_GUARD);
    run(&row->function, op, a);
    for (row = NULL; (row = kernel_next(op, row));) {
        a->out = whole;
        a->first = 0;
        a->count = items;
        kernel_fill(extent, whole, KERNEL_GUARD);
        run(&row->function, op, a);
        a->out = got;
        kernel_fill(extent, got, KERNEL_GUARD);
        for (a->first = 0; a->first < items; a->first += a->count) {
            a->count = eg__min(a->first ? 2 : 1, items - a->first);
            run(&row->function, op, a);
        }
        CHECK(kernel_gap_broken(rows, columns, stride, got) == SIZE_MAX, "%s: a gap", row->isa);
        CHECK(memcmp(got, whole, extent * sizeof *got) == 0, "%s %s: %zu items in pieces differ",
              eg__operation_name(op), row->isa, items);
        double worst = 0, size = 0;
        for (size_t i = 0; i < extent; i++) {
            if (i % stride >= columns) continue;
            const double off = fabs((double)got[i] - (double)want[i]);
            if (!(off <= worst)) worst = off;
            if (fabsf(want[i]) < 1e20f) size = fmax(size, fabs((double)want[i]));
        }
        CHECK(worst <= 1e-5 * (1 + size),
              "%s %s: %zu x %zu x %zu, %zu/%zu heads of %zu, %zu, window %zu, causal %d, mask %d, "
              "lengths %d, dropout %g: off by %g of %g",
              eg__operation_name(op), row->isa, s->samples, s->queries, s->keys, s->heads,
              s->kv_heads, s->d, s->dv, s->window, s->causal, s->mask, s->lengths, s->dropout,
              worst, size);
    }
    return want;
}

static void check_sizes(const sizes *s, uint64_t *state) {
    const size_t q_columns = s->heads * s->d, k_columns = s->kv_heads * s->d;
    const size_t v_columns = s->kv_heads * s->dv, y_columns = s->heads * (s->dv + 1);
    const size_t queries = s->samples * s->queries, keys = s->samples * s->keys;
    eg__attention_f32_args a = {.queries = s->queries,
                                .keys = s->keys,
                                .heads = s->heads,
                                .kv_heads = s->kv_heads,
                                .d = s->d,
                                .dv = s->dv,
                                .scale = 0.6f,
                                .causal = s->causal != 0,
                                .window = s->window,
                                .q_stride = q_columns + 2,
                                .k_stride = k_columns + 1,
                                .v_stride = v_columns,
                                .y_stride = y_columns + 3, /* as check_operation writes it */
                                .dy_stride = y_columns};
    a.q = floats(Q, kernel_extent(queries, q_columns, a.q_stride), state);
    a.k = floats(K, kernel_extent(keys, k_columns, a.k_stride), state);
    a.v = floats(V, kernel_extent(keys, v_columns, a.v_stride), state);
    a.dropout = (eg__attention_dropout){(uint64_t)ceil(s->dropout * 0x1p53), 77, 5, 0};
    const size_t scratch = eg__attention_scratch(s->d, s->dv);
    float *memory = kernel_walled(SCRATCH, (scratch + 16) * sizeof *memory);
    a.scratch = (float *)(((uintptr_t)memory + 63) / 64 * 64);
    if (s->mask) add_mask(s, &a, state);
    if (s->lengths) add_lengths(s, &a, state);
    const float *y = check_operation(s, EG__OP_attention_f32, &a, queries, y_columns);
    const size_t extent = kernel_extent(queries, y_columns, a.y_stride);
    a.y = kernel_walled_copy(Y, y, extent * sizeof *y);
    float *dy = floats(DY, queries * y_columns, state);
    a.dy = dy;
    check_operation(s, EG__OP_attention_dq_f32, &a, queries, q_columns);
    check_operation(s, EG__OP_attention_dkv_f32, &a, keys, k_columns + v_columns);
}

TEST(attention_kernels, sizes) {
    static const sizes rows[] = {
        {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0},         {1, 128, 128, 1, 1, 64, 64, 0, 0, 0, 0, 0},
        {1, 130, 130, 2, 1, 16, 16, 0, 1, 0, 0, 0},   {2, 1, 129, 4, 2, 64, 80, 0, 1, 0, 1, 0},
        {1, 129, 3, 1, 1, 5, 7, 0, 1, 0, 0, 0},       {2, 65, 64, 3, 3, 17, 33, 9, 0, 0, 0, 0},
        {2, 70, 130, 5, 1, 8, 4, 40, 1, 3, 2, 0},     {3, 3, 66, 4, 4, 33, 1, 0, 0, 2, 1, 0.4},
        {1, 100, 100, 2, 2, 80, 48, 0, 1, 1, 0, 0.1}, {1, 258, 140, 2, 2, 20, 20, 0, 0, 0, 0, 0},
        {2, 200, 310, 6, 2, 24, 16, 0, 1, 0, 1, 0},   {1, 330, 330, 2, 1, 16, 16, 75, 1, 0, 0, 0}};
    uint64_t state = 5;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_sizes(&rows[i], &state);
}

static size_t pick(uint64_t *state, size_t from, size_t to) {
    return from + (size_t)((test_random(state) + 1) / 2 * (float)(to - from + 1));
}

TEST(attention_kernels, random_sizes) {
    uint64_t state = 11;
    const size_t times = kernel_times(150);
    for (size_t i = 0; i < times; i++) {
        const size_t longest = i % 10 ? 40 : 130;
        sizes s = {.samples = pick(&state, 1, 2),
                   .queries = pick(&state, 1, longest),
                   .keys = pick(&state, 1, longest),
                   .kv_heads = pick(&state, 1, 2),
                   .d = pick(&state, 1, i % 3 ? 24 : 80),
                   .dv = pick(&state, 1, i % 3 ? 24 : 80),
                   .window = i % 4 ? 0 : pick(&state, 1, longest),
                   .causal = (int)pick(&state, 0, 1),
                   .mask = (int)(i % 5 < 4 ? i % 5 : 0),
                   .lengths = (int)pick(&state, 0, 2),
                   .dropout = i % 6 ? 0 : 0.3};
        s.heads = s.kv_heads * pick(&state, 1, s.kv_heads == 1 ? 5 : 2);
        check_sizes(&s, &state);
    }
    test_claim("%zu random sizes of three operations, kernels %s", times,
               kernel_isas(EG__OP_attention_f32));
}

/* Scores that would be far larger than the scratch memory, and than anything that was taken. */
TEST(attention_kernels, long_sequences) {
    enum { T = 1500 };
    CHECK(eg__attention_scratch(8, 8) * 8 < (size_t)T * T, "%zu floats of scratch",
          eg__attention_scratch(8, 8));
    uint64_t state = 3;
    const size_t t = kernel_quick() ? 300 : T;
    check_sizes(&(sizes){1, t, t, 1, 1, 8, 8, 0, 1, 0, 0, 0}, &state);
    check_sizes(&(sizes){1, t, t, 1, 1, 8, 8, 50, 1, 0, 0, 0}, &state);
}

/* One head of one column, T queries and keys; `want` has the results of ref for the values that are there. */
typedef struct column {
    eg__attention_f32_args a;
    float *q, *k, *v, *out, *want;
} column;

static void open_column(column *c, size_t t, float scale, uint64_t state) {
    *c = (column){.q = floats(Q, t, &state),
                  .k = floats(K, t, &state),
                  .v = floats(V, t, &state),
                  .out = floats(GOT, 2 * t, &state),
                  .want = floats(WANT, 2 * t, &state)};
    float *memory = kernel_walled(SCRATCH, (eg__attention_scratch(1, 1) + 16) * sizeof *memory);
    eg__attention_f32_args *a = &c->a;
    *a = (eg__attention_f32_args){
        .queries = t, .keys = t, .heads = 1, .kv_heads = 1, .d = 1, .dv = 1};
    a->scale = scale;
    a->q = c->q;
    a->k = c->k;
    a->v = c->v;
    a->q_stride = a->k_stride = a->v_stride = 1;
    a->out_stride = 2;
    a->count = eg__attention_blocks(a, false);
    a->scratch = (float *)(((uintptr_t)memory + 63) / 64 * 64);
}

static void column_define(column *c) {
    c->a.out = c->want;
    eg__attention_f32_ref(&c->a);
    c->a.out = c->out;
}

/* Weights of scores that differ by far more than the exponential can span. */
TEST(attention_kernels, large_scores) {
    enum { T = 200 };
    column c;
    open_column(&c, T, 1e6f, 9);
    column_define(&c);
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_attention_f32, row));) {
        row->function.attention_f32(&c.a);
        for (size_t i = 0; i < T; i++) /* an ulp of such a score is a sixteenth */
            CHECK(fabsf(c.out[2 * i] - c.want[2 * i]) < 0.2f && isfinite(c.out[2 * i + 1]),
                  "%s: row %zu is %g, not %g", row->isa, i, (double)c.out[2 * i],
                  (double)c.want[2 * i]);
    }
}

/* Scores that grow from key to key, so that sums shrink now and then, or at every block, or never. */
TEST(attention_kernels, growing_scores) {
    enum { T = 700 };
    static const float slopes[] = {0.002f, 0.03f, 0.1f, 3, -0.03f};
    column c;
    open_column(&c, T, 1, 6);
    for (size_t s = 0; s < sizeof slopes / sizeof *slopes; s++) {
        for (size_t i = 0; i < T; i++) {
            c.q[i] = 0.5f + (float)(i % 9) / 8;
            c.k[i] = slopes[s] * (float)i;
        }
        column_define(&c);
        for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_attention_f32, row));) {
            row->function.attention_f32(&c.a);
            for (size_t i = 0; i < 2 * T; i++) /* the rounding of the largest scores counts */
                CHECK(fabsf(c.out[i] - c.want[i]) < 1e-5f + 1e-6f * (float)T * fabsf(slopes[s]),
                      "%s: slope %g: number %zu is %g, not %g", row->isa, (double)slopes[s], i,
                      (double)c.out[i], (double)c.want[i]);
        }
    }
}

/* ---- rotary positions */
static void check_rotary(size_t rows, size_t heads, size_t d, int kind, bool interleaved,
                         uint64_t *state) {
    const size_t columns = heads * d, stride = columns + 1;
    float *x = floats(Q, kernel_extent(rows, columns, stride), state);
    float *want = floats(WANT, rows * columns, state), *got = floats(GOT, rows * columns, state);
    float *frequency = kernel_walled(K, d / 2 * sizeof *frequency);
    int32_t *list = kernel_walled(V, rows * sizeof *list);
    for (size_t i = 0; i < d / 2; i++) frequency[i] = powf(1e4f, -2 * (float)i / (float)d);
    for (size_t i = 0; i < rows; i++) list[i] = (int32_t)(i * 977 % 20011) - 40;
    eg__rotary_f32_args a = {.rows = rows,
                             .heads = heads,
                             .d = d,
                             .x = x,
                             .x_stride = stride,
                             .y = want,
                             .y_stride = columns,
                             .frequency = frequency,
                             .positions = kind == 2 ? list : NULL,
                             .offset = kind == 1 ? 8000 : 0,
                             .first = kind == 0 ? 5 : 0,
                             .period = rows,
                             .interleaved = interleaved,
                             .back = rows % 2 == 0,
                             .scratch = kernel_walled(SCRATCH, eg__rotary_scratch(d) * 4)};
    eg__rotary_f32_ref(&a);
    a.y = got;
    for (const eg__kernel *row = NULL; (row = kernel_next(EG__OP_rotary_f32, row));) {
        kernel_fill(rows * columns, got, KERNEL_GUARD);
        row->function.rotary_f32(&a);
        for (size_t i = 0; i < rows * columns; i++)
            CHECK(fabs((double)got[i] - (double)want[i]) <= 1e-6,
                  "%s: %zu rows of %zu heads of %zu: element %zu is %.9g, not %.9g", row->isa, rows,
                  heads, d, i, (double)got[i], (double)want[i]);
    }
}

TEST(attention_kernels, rotary) {
    static const size_t columns[] = {2, 4, 6, 14, 16, 30, 32, 34, 64, 66, 80, 128};
    uint64_t state = 4;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int interleaved = 0; interleaved < 2; interleaved++)
                check_rotary(1 + i, 1 + i % 3, columns[i], kind, interleaved != 0, &state);
}
