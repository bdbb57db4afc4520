/* Attention of 12 heads of 64 columns, beside two products and a softmax of all scores. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

enum { HEADS = 12, D = 64, WIDE = HEADS * D, OUT = WIDE + HEADS };

typedef struct attention_state {
    const eg__kernels *kernels;
    eg__attention_f32_args args;
    float *packed, *scores;
} attention_state;

static void run_ours(void *state) {
    const attention_state *s = state;
    s->kernels->attention_f32(&s->args);
}

/* With the scores in memory: scale, softmax, and the log-sum-exp found from the first of them. */
static void run_whole(void *state) {
    const attention_state *s = state;
    const eg__attention_f32_args *a = &s->args;
    const size_t t = a->queries;
    for (size_t h = 0; h < HEADS; h++) {
        eg__gemm_pack_f32(D, t, a->k + h * D, 1, WIDE, s->packed);
        const eg__gemm_f32_args scores = {.m = t,
                                          .n = t,
                                          .k = D,
                                          .a = a->q + h * D,
                                          .a_stride = WIDE,
                                          .b = s->packed,
                                          .c = s->scores,
                                          .c_stride = t};
        s->kernels->gemm_f32(&scores);
        for (size_t i = 0; i < t; i++) {
            float *row = s->scores + i * t;
            for (size_t k = 0; k < t; k++) row[k] *= a->scale;
            a->out[i * OUT + WIDE + h] = row[0];
        }
        const eg__softmax_f32_args softmax = {t, t, s->scores, t, s->scores, t, false};
        s->kernels->softmax_f32(&softmax);
        for (size_t i = 0; i < t; i++) a->out[i * OUT + WIDE + h] -= logf(s->scores[i * t]);
        eg__gemm_pack_f32(t, D, a->v + h * D, WIDE, 1, s->packed);
        const eg__gemm_f32_args values = {.m = t,
                                          .n = D,
                                          .k = t,
                                          .a = s->scores,
                                          .a_stride = t,
                                          .b = s->packed,
                                          .c = a->out + h * D,
                                          .c_stride = OUT};
        s->kernels->gemm_f32(&values);
    }
}

static float *numbers(bench *b, size_t t, uint32_t seed) {
    float *x = bench_floats(b, t * WIDE);
    bench_fill(x, t * WIDE, 1, seed);
    return x;
}

void bench_attention(bench *b) {
    static const size_t lengths[] = {32, 128, 512};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t t = lengths[i];
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        attention_state s = {.kernels = &b->kernels,
                             .args = {.queries = t,
                                      .keys = t,
                                      .heads = HEADS,
                                      .kv_heads = HEADS,
                                      .d = D,
                                      .dv = D,
                                      .scale = 0.125f,
                                      .q = numbers(b, t, 1),
                                      .k = numbers(b, t, 2),
                                      .v = numbers(b, t, 3),
                                      .q_stride = WIDE,
                                      .k_stride = WIDE,
                                      .v_stride = WIDE,
                                      .out = bench_floats(b, t * OUT),
                                      .out_stride = OUT,
                                      .scratch = bench_floats(b, eg__attention_scratch(D, D))},
                             .packed = bench_floats(b, t * D),
                             .scores = bench_floats(b, t * t)};
        s.args.count = HEADS * eg__attention_blocks(&s.args, false);
        race r = {
            .out = s.args.out, .out_size = t * OUT, .work = 4.0 * HEADS * (double)(t * t) * D};
        char title[48];
        snprintf(title, sizeof title, "%zu", t);
        race_add(&r, (contestant){ROLE_OURS, "ours", "", .run = run_ours, .state = &s});
        race_add(&r, (contestant){ROLE_OTHER, "all scores", "", .run = run_whole, .state = &s});
        bench_add_peak(b, &r, NULL);
        bench_race(b, &r, title, 1e-5);
        eg__arena_scope_end(b->arena, scope);
    }
}
