/* Products of bf16 and of f16, both sides halves, beside the same with floats. */
#include "peers.h"

#include <stdio.h>
#include <string.h>

/* Everything is a small integer: sums are exact but for those that floats round. */
static const double TOLERANCE = 1e-5;

typedef struct halves_state {
    eg__gemm_halves_function *gemm;
    eg__gemm_halves_args args;
    eg__gemm_f32_function *gemm_f32;
    eg__gemm_f32_args floats;
} halves_state;

static void run_halves(void *state) {
    const halves_state *s = state;
    s->gemm(&s->args);
}
static void run_floats(void *state) {
    const halves_state *s = state;
    s->gemm_f32(&s->floats);
}

static uint16_t *halves_make(bench *b, eg_type type, size_t n, const float *x) {
    uint16_t *halves = bench_take(b, n * sizeof *halves);
    (type == EG_F16 ? eg__f32_to_f16_ref : eg__f32_to_bf16_ref)(n, x, halves);
    return halves;
}

static float *integers_make(bench *b, size_t n, size_t factor) {
    float *x = bench_floats(b, n);
    for (size_t i = 0; i < n; i++) x[i] = (float)(i * factor % 15) - 7;
    return x;
}

static void halves_case(bench *b, eg_type type, size_t m, size_t n, size_t k) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    float *a = integers_make(b, m * k, 31), *right = integers_make(b, k * n, 37);
    float *c = bench_floats(b, m * n), *packed = bench_floats(b, eg__gemm_packed_size(k, n));
    const halves_problem p = {
        m, n, k, halves_make(b, type, m * k, a), halves_make(b, type, k * n, right), c};
    uint16_t *pairs = bench_take(b, eg__gemm_halves_size(k, n) * sizeof *pairs);
    eg__gemm_pack_f32(k, n, right, n, 1, packed);
    eg__gemm_pack_halves(k, n, p.b, n, 1, pairs);
    float *scratch =
        bench_floats(b, eg__gemm_halves_scratch(m, n, k, NULL) + eg__gemm_scratch(m, n, k, NULL));
    halves_state *s = bench_take(b, sizeof *s);
    *s = (halves_state){
        .gemm = type == EG_F16 ? b->kernels.gemm_f16f16 : b->kernels.gemm_bf16bf16,
        .args = {.m = m,
                 .n = n,
                 .k = k,
                 .a = p.a,
                 .a_stride = k,
                 .b = pairs,
                 .c = c,
                 .c_stride = n,
                 .scratch = scratch},
        .gemm_f32 = b->kernels.gemm_f32,
        .floats = {m, n, k, a, k, packed, c, n, false, NULL, scratch, NULL, 0, NULL, NULL}};
    char title[48];
    snprintf(title, sizeof title, "%zux%zux%zu %s", m, n, k, eg_type_name(type));
    race r = {.out = c, .out_size = m * n, .work = 2.0 * (double)(m * n) * (double)k};
    race_add(&r,
             (contestant){
                 .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_halves, .state = s});
    race_add(&r,
             (contestant){
                 .role = ROLE_OTHER, .name = "f32", .variant = "", .run = run_floats, .state = s});
    if (type == EG_BF16) peers_halves(b, &r, &p);
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, title, TOLERANCE);
    eg__arena_scope_end(b->arena, scope);
}

void bench_halves(bench *b) {
    static const size_t shapes[][3] = {
        {512, 512, 512}, {128, 384, 384}, {128, 1536, 384}, {64, 64, 64}, {1024, 1024, 1024}};
    static const eg_type types[] = {EG_BF16, EG_F16};
    for (int t = 0; t < 2; t++) {
        if (strcmp(b->kernels.row[eg__halves_operation(types[t])]->isa, "ref") == 0) continue;
        for (int i = 0; i < (b->options.quick ? 2 : 5); i++)
            halves_case(b, types[t], shapes[i][0], shapes[i][1], shapes[i][2]);
    }
}
