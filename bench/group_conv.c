/* Convolutions, beside a product with everything unfolded first. */
#include "bench.h"

#include <stdio.h>

typedef struct conv_state {
    const eg__kernels *kernels;
    eg__conv_shape shape;
    eg__conv_f32_args args;
    float *unfolded;
} conv_state;

static void run_ours(void *state) {
    const conv_state *s = state;
    const eg__conv_kernels kernels = eg__conv_kernels_of(s->kernels);
    eg__conv_f32(&kernels, &s->args);
}
static void run_filters(void *state) {
    const conv_state *s = state;
    const eg__conv_kernels kernels = eg__conv_kernels_of(s->kernels);
    eg__conv_dw_f32(&kernels, &s->args);
}

/* What the results need, all of a sample and a group at once. */
static void run_whole(void *state) {
    const conv_state *s = state;
    const eg__conv_shape *c = &s->shape;
    const size_t depth = eg__conv_depth(c), positions = eg__conv_positions(c);
    const size_t channels = c->channels / c->groups, filters = c->filters / c->groups;
    for (size_t i = 0; i < s->args.samples * c->groups; i++) {
        const eg__unfold_f32_args unfold = {.shape = c,
                                            .x = s->args.x + i * channels * eg__conv_plane(c),
                                            .channels = channels,
                                            .count = positions,
                                            .to = s->unfolded,
                                            .row_stride = EG__PANEL,
                                            .chunk_stride = EG__PANEL * depth};
        s->kernels->unfold_f32(&unfold);
        const eg__gemm_f32_args product = {.m = filters,
                                           .n = positions,
                                           .k = depth,
                                           .a = s->args.w + i % c->groups * filters * depth,
                                           .a_stride = depth,
                                           .b = s->unfolded,
                                           .c = s->args.out + i * filters * positions,
                                           .c_stride = positions,
                                           .scratch = s->args.scratch};
        s->kernels->gemm_f32(&product);
    }
}

typedef struct conv_row {
    const char *title;
    size_t samples;
    bool filters; /* the gradient by them */
    eg__conv_shape shape;
} conv_row;
#define SAME(in, taps) \
    { in, in, taps, 1, 1, 1, taps / 2 }
#define HALF(in, taps) \
    { in, (in) / 2, taps, 2, 1, 1, taps / 2 }
#define SHAPE(h, w, c, o, g) \
    { .axis = {h, w}, .channels = c, .filters = o, .groups = g }
static const conv_row rows[] = {
    {"1x64x56x56 * 64x64x3x3", 1, false, SHAPE(SAME(56, 3), SAME(56, 3), 64, 64, 1)},
    {"the same, strided by 2", 1, false, SHAPE(HALF(56, 3), HALF(56, 3), 64, 64, 1)},
    {"the same, 1x1", 1, false, SHAPE(SAME(1, 1), SAME(3136, 1), 64, 64, 1)},
    {"8x64x1000 * 128x64x5", 8, false, SHAPE(SAME(1, 1), SAME(1000, 5), 64, 128, 1)},
    {"1x64x56x56 * 64x1x3x3", 1, false, SHAPE(SAME(56, 3), SAME(56, 3), 64, 64, 64)},
    {"d 64x64x3x3", 1, true, SHAPE(SAME(56, 3), SAME(56, 3), 64, 64, 1)},
    {"d 128x64x5", 8, true, SHAPE(SAME(1, 1), SAME(1000, 5), 64, 128, 1)},
    {"d 64x1x3x3", 1, true, SHAPE(SAME(56, 3), SAME(56, 3), 64, 64, 64)}};

static float *numbers(bench *b, size_t n, uint32_t seed) {
    float *x = bench_floats(b, n);
    bench_fill(x, n, 1, seed);
    return x;
}

static void race_row(bench *b, const conv_row *row) {
    conv_state s = {.kernels = &b->kernels, .shape = row->shape};
    const eg__conv_shape *c = &s.shape;
    const size_t positions = eg__conv_positions(c), depth = eg__conv_depth(c);
    const size_t y = row->samples * c->filters * positions, w = c->filters * depth;
    s.args = (eg__conv_f32_args){
        .shape = c,
        .x = numbers(b, row->samples * c->channels * eg__conv_plane(c), 1),
        .w = numbers(b, w, 2),
        .dy = numbers(b, y, 3),
        .out = bench_floats(b, eg__max(y, w)),
        .samples = row->samples,
        .count = row->filters ? eg__conv_dw_items(c) : row->samples * eg__conv_items(c),
        .scratch = bench_floats(b, eg__max(eg__max(eg__conv_scratch(c), eg__conv_dw_scratch(c)),
                                           eg__gemm_scratch(c->filters, positions, depth, NULL)))};
    s.unfolded = bench_floats(b, depth * eg__round_up(positions, EG__PANEL));
    race r = {.out = s.args.out,
              .out_size = row->filters ? w : y,
              .work = 2.0 * (double)y * (double)depth};
    race_add(&r, (contestant){ROLE_OURS, "ours", "", .run = row->filters ? run_filters : run_ours,
                              .state = &s});
    if (!row->filters)
        race_add(&r, (contestant){ROLE_OTHER, "all unfolded", "", .run = run_whole, .state = &s});
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, row->title, 1e-4);
}

void bench_conv(bench *b) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg__arena_scope scope = eg__arena_scope_begin(b->arena);
        race_row(b, &rows[i]);
        eg__arena_scope_end(b->arena, scope);
    }
}
