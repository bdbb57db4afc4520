/* Products with a right side of f16, bf16, int8 and int4, beside the same with floats. */
#include "peers.h"

#include <stdio.h>
#include <string.h>

/* Everything is a small integer, scales are 1: sums are exact but for those that floats round. */
static const double TOLERANCE = 1e-5;

static const struct {
    const char *name;
    eg__operation operation;
    eg_type type;
    size_t group; /* rows that share a scale; 0 = all */
} kinds[] = {
    {"f16", EG__OP_gemm_f16, EG_F16, 0},      {"bf16", EG__OP_gemm_bf16, EG_BF16, 0},
    {"i8", EG__OP_gemm_i8, EG_I8, 0},         {"i4/32", EG__OP_gemm_i4, EG_I4, 32},
    {"i4", EG__OP_gemm_i4, EG_I4, 0},         {"i8i8", EG__OP_gemm_i8i8, EG_I8, 0},
    {"i4i8/32", EG__OP_gemm_i4i8, EG_I4, 32}, {"i4i8", EG__OP_gemm_i4i8, EG_I4, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct small_state {
    eg__gemm_quantized_function *gemm;
    eg__gemm_quantized_args args;
    const eg__kernels *kernels;
    eg__gemm_f32_args floats;
} small_state;

static void run_small(void *state) {
    const small_state *s = state;
    s->gemm(&s->args);
}

static void run_floats(void *state) {
    const small_state *s = state;
    const eg__gemm_f32_args *g = &s->floats;
    const eg__gemv_f32_args row = {g->n, g->k, g->a, g->b, g->c, NULL};
    if (g->m == 1) s->kernels->gemv_f32(&row);
    else s->kernels->gemm_f32(g);
}

static eg__gemm_quantized_function *function_of(const bench *b, eg__operation operation) {
    const eg__kernels *k = &b->kernels;
    switch (operation) {
    case EG__OP_gemm_f16: return k->gemm_f16;
    case EG__OP_gemm_bf16: return k->gemm_bf16;
    case EG__OP_gemm_i8: return k->gemm_i8;
    case EG__OP_gemm_i4: return k->gemm_i4;
    case EG__OP_gemm_i8i8: return k->gemm_i8i8;
    default: return k->gemm_i4i8;
    }
}

/* ---- B: integers within [-7, 7], so that every type has them; stored as n rows of k */
static int weight(size_t k, size_t n) { return (int)((k * 7 + n * 11 + k * n / 5) % 15) - 7; }

static void *values_make(bench *b, eg_type type, size_t n, size_t k) {
    void *values = bench_take(b, n * k * 2);
    memset(values, 0, n * k * 2);
    for (size_t j = 0, i = 0; j < n; j++)
        for (size_t l = 0; l < k; l++, i++) {
            const float x = (float)weight(l, j);
            if (type == EG_F16) eg__f32_to_f16_ref(1, &x, (uint16_t *)values + i);
            else if (type == EG_BF16) eg__f32_to_bf16_ref(1, &x, (uint16_t *)values + i);
            else if (type == EG_I8) ((int8_t *)values)[i] = (int8_t)x;
            else eg__nibble_set(values, i, (int)x);
        }
    return values;
}

static eg__packed_quantized packed_make(bench *b, eg_type type, size_t n, size_t k, size_t shared) {
    const size_t block = shared ? shared : k, groups = eg__ceil_div(k, block);
    uint32_t *ends = bench_take(b, groups * sizeof *ends);
    for (size_t g = 0; g < groups; g++) ends[g] = (uint32_t)eg__min((g + 1) * block, k);
    eg__quantized_layout layout;
    if (!eg__quantized_measure(type, k, n, groups, ends, false, true, &layout))
        bench_fail("too large");
    const eg__packed_quantized packed =
        eg__quantized_at(type, k, n, groups, bench_take(b, layout.bytes), &layout);
    float *scale = bench_floats(b, n * groups);
    for (size_t i = 0; i < n * groups; i++) scale[i] = 1;
    const eg__quantized_matrix stored = {.type = type,
                                         .rows = n,
                                         .columns = k,
                                         .block = block,
                                         .values = values_make(b, type, n, k),
                                         .scale = scale};
    const eg__quantized_piece piece = {.k = (uint32_t)k, .n = (uint32_t)n};
    eg__quantized_begin(&packed, ends);
    eg__quantized_pack(&packed, &piece, &stored);
    return packed;
}

/* ---- A: integers within [0, 127], the largest in every row, so that the scale of a row is 1 */
static float *left_make(bench *b, size_t m, size_t k) {
    float *a = bench_floats(b, m * k);
    for (size_t i = 0; i < m * k; i++) a[i] = (float)(i * 31 % 127);
    for (size_t i = 0; i < m; i++) a[i * k] = 127;
    return a;
}

static eg__gemm_f32_args floats_make(bench *b, size_t m, size_t n, size_t k, float *a, float *c) {
    float *plain = bench_floats(b, k * n), *packed = bench_floats(b, eg__gemm_packed_size(k, n));
    for (size_t l = 0; l < k; l++)
        for (size_t j = 0; j < n; j++) plain[l * n + j] = (float)weight(l, j);
    eg__gemm_pack_f32(k, n, plain, n, 1, packed);
    return (eg__gemm_f32_args){.m = m,
                               .n = n,
                               .k = k,
                               .a = a,
                               .a_stride = k,
                               .b = packed,
                               .c = c,
                               .c_stride = n,
                               .scratch = bench_floats(b, eg__gemm_scratch(m, n, k, NULL))};
}

static bytes_problem bytes_make(bench *b, size_t m, size_t n, size_t k, float *a, float *c) {
    bytes_problem p = {m, n, k, a, bench_take(b, k * n), c};
    for (size_t l = 0; l < k; l++)
        for (size_t j = 0; j < n; j++) p.b[l * n + j] = (int8_t)weight(l, j);
    return p;
}

static void small_case(bench *b, size_t m, size_t n, size_t k) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    float *a = left_make(b, m, k), *c = bench_floats(b, m * n);
    const eg__gemm_f32_args floats = floats_make(b, m, n, k, a, c);
    const bytes_problem bytes = bytes_make(b, m, n, k, a, c);
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(b->kernels.row[kinds[i].operation]->isa, "ref") == 0) continue; /* for hours */
        eg__arena_scope inner = eg__arena_scope_begin(b->arena);
        char title[48];
        snprintf(title, sizeof title, "%zux%zux%zu %s", m, n, k, kinds[i].name);
        small_state *s = bench_take(b, sizeof *s);
        *s = (small_state){
            .gemm = function_of(b, kinds[i].operation), .kernels = &b->kernels, .floats = floats};
        s->args =
            (eg__gemm_quantized_args){.m = m,
                                      .a = a,
                                      .a_stride = k,
                                      .b = packed_make(b, kinds[i].type, n, k, kinds[i].group),
                                      .c = c,
                                      .c_stride = n};
        s->args.scratch =
            bench_take(b, eg__quantized_scratch(m, k, s->args.b.groups, kinds[i].type));
        race r = {.out = c, .out_size = m * n, .work = 2.0 * (double)(m * n) * (double)k};
        race_add(
            &r,
            (contestant){
                .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_small, .state = s});
        race_add(
            &r,
            (contestant){
                .role = ROLE_OTHER, .name = "f32", .variant = "", .run = run_floats, .state = s});
        if (kinds[i].operation == EG__OP_gemm_i8i8) peers_bytes(b, &r, &bytes);
        bench_add_peak(b, &r, NULL);
        bench_race(b, &r, title, TOLERANCE);
        eg__arena_scope_end(b->arena, inner);
    }
    eg__arena_scope_end(b->arena, scope);
}

void bench_quantized(bench *b) {
    static const size_t rows[] = {8, 32, 128}, sides[] = {1024, 4096};
    small_case(b, 1, 4096, 4096);
    if (!b->options.quick) small_case(b, 1, 11008, 4096);
    for (int m = 0; m < 3; m++)
        for (int side = 0; side < (b->options.quick ? 1 : 2); side++)
            small_case(b, rows[m], sides[side], sides[side]);
}
