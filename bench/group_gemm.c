/* Matrix products: what recurrent cells need, one row, squares, and sizes that fit no tile. */
#include "peers.h"

#include <math.h>
#include <stdio.h>

/* Largest difference to ours, as a part of the largest value. Sums of 2048 products in another
 * order differ by some 1e-6. */
static const double TOLERANCE = 1e-5;

typedef struct gemm_state {
    eg__gemm_f32_function *gemm;
    eg__gemv_f32_function *gemv;
    eg__gemm_f32_args gemm_args;
    eg__gemv_f32_args gemv_args;
} gemm_state;

static void run_gemm(void *state) {
    const gemm_state *s = state;
    s->gemm(&s->gemm_args);
}

static void run_gemv(void *state) {
    const gemm_state *s = state;
    s->gemv(&s->gemv_args);
}

/* Some elements of C against sums in double: peers may be absent, we must be right all the same. */
static void check_ours(const gemm_problem *p, const char *title) {
    enum { SAMPLES = 64 };
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t i = s * 7919 % p->m, j = s * 104729 % p->n;
        double sum = 0, size = 0;
        for (size_t k = 0; k < p->k; k++) {
            double product = (double)p->a[i * p->k + k] * (double)p->b[k * p->n + j];
            sum += product, size += fabs(product);
        }
        if (!(fabs(sum - (double)p->c[i * p->n + j]) <= TOLERANCE * size))
            bench_fail("%s: ours is wrong at row %zu, column %zu", title, i, j);
    }
}

static void fill_problem(bench *b, gemm_problem *p) {
    p->a = bench_floats(b, p->m * p->k);
    p->b = bench_floats(b, p->k * p->n);
    p->bt = bench_floats(b, p->k * p->n);
    p->c = bench_floats(b, p->m * p->n);
    bench_fill(p->a, p->m * p->k, 0.5f, 1);
    bench_fill(p->b, p->k * p->n, 0.5f, 2);
    for (size_t k = 0; k < p->k; k++)
        for (size_t n = 0; n < p->n; n++) p->bt[n * p->k + k] = p->b[k * p->n + n];
}

static gemm_state *state_make(bench *b, const gemm_problem *p) {
    gemm_state *s = bench_take(b, sizeof *s);
    float *packed = bench_floats(b, eg__gemm_packed_size(p->k, p->n));
    eg__gemm_pack_f32(p->k, p->n, p->b, p->n, 1, packed);
    *s = (gemm_state){.gemm = b->kernels.gemm_f32, .gemv = b->kernels.gemv_f32};
    s->gemm_args = (eg__gemm_f32_args){.m = p->m,
                                       .n = p->n,
                                       .k = p->k,
                                       .a = p->a,
                                       .a_stride = p->k,
                                       .b = packed,
                                       .c = p->c,
                                       .c_stride = p->n};
    s->gemm_args.scratch = bench_floats(b, eg__gemm_scratch(p->m, p->n, p->k, NULL));
    s->gemv_args = (eg__gemv_f32_args){.n = p->n, .k = p->k, .x = p->a, .b = packed, .y = p->c};
    return s;
}

static void gemm_case(bench *b, size_t m, size_t n, size_t k) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    char title[48];
    gemm_problem p = {.m = m, .n = n, .k = k, .threads = 1};
    snprintf(title, sizeof title, "%zux%zux%zu", m, n, k);
    fill_problem(b, &p);
    race r = {.out = p.c, .out_size = m * n, .work = 2.0 * (double)(m * n) * (double)k};
    gemm_state *state = state_make(b, &p);
    contestant ours = {.role = ROLE_OURS, .name = "ours", .variant = "", .state = state};
    ours.run = m == 1 ? run_gemv : run_gemm;
    ours.run(state);
    check_ours(&p, title);
    race_add(&r, ours);
    peers_gemm(b, &r, &p);
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, title, TOLERANCE);
    eg__arena_scope_end(b->arena, scope);
}

/* ---- the lists of sizes */
static const size_t SIDES[] = {32, 64, 128, 256, 512, 1024};
enum { SIDE_COUNT = sizeof SIDES / sizeof *SIDES };

/* K = N, or with --full every K with every N. */
static void gemm_sides(bench *b, size_t m) {
    for (int i = 0; i < SIDE_COUNT; i++) {
        for (int j = 0; j < SIDE_COUNT; j++)
            if (b->options.full || i == j) gemm_case(b, m, SIDES[j], SIDES[i]);
    }
}

void bench_gemm(bench *b) {
    gemm_sides(b, 8);
    gemm_sides(b, 32);
    gemm_sides(b, 128);
}

void bench_gemv(bench *b) { gemm_sides(b, 1); }

void bench_square(bench *b) {
    static const size_t squares[] = {64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        if (squares[i] <= 1024 || !b->options.quick)
            gemm_case(b, squares[i], squares[i], squares[i]);
}

void bench_odd(bench *b) {
    for (size_t side = 32; side <= 512; side *= 2) gemm_case(b, 7, side, side);
    gemm_case(b, 5, 100, 45);
    gemm_case(b, 100, 19, 45);
}
