/* Compiled programs: what an epilogue costs, and a multilayer perceptron forward and backward. */
#include "compiled.h"
#include "peers.h"

#include <stdio.h>

static float *floats_make(bench *b, size_t count, uint32_t seed) {
    float *out = bench_floats(b, count);
    bench_fill(out, count, 1, seed);
    return out;
}

/* ---- an epilogue: the product with it beside the bare product and the bare function */
enum { ROWS = 128, WIDTH = 256, SIZE = ROWS * WIDTH };

static eg_node build_whole(compiled *c, eg_node x) {
    return eg_tanh(c->graph, compiled_linear(c, "a", x, WIDTH, WIDTH));
}
static eg_node build_product(compiled *c, eg_node x) {
    return eg_matmul(c->graph, x, eg_parameter(c->graph, "a.w", 2, (uint64_t[]){WIDTH, WIDTH}));
}
static eg_node build_function(compiled *c, eg_node x) { return eg_tanh(c->graph, x); }

static compiled *part_make(bench *b, eg_node (*build)(compiled *c, eg_node x), float *x, float *y) {
    compiled *c = compiled_start(b);
    eg_node input = eg_input(c->graph, "x", EG_F32, 2, (uint64_t[]){ROWS, WIDTH});
    compiled_finish(c, 1, &(eg_output){"y", build(c, input)});
    compiled_bind(c, "x", x);
    compiled_bind(c, "y", y);
    return c;
}

typedef struct parts {
    compiled *whole, *product, *function;
    float *between; /* what the product gives and the function takes */
} parts;

static void run_whole(void *state) { run_compiled(((parts *)state)->whole); }

static void run_parts(void *state) {
    const parts *p = state;
    run_compiled(p->product);
    run_compiled(p->function);
}

/* What the whole must give: the bare parts have no bias. */
static void run_parts_and_bias(void *state) {
    const parts *p = state;
    const float *bias = compiled_parameter(p->whole, "a.b");
    run_compiled(p->product);
    for (size_t i = 0; i < SIZE; i++) p->between[i] += bias[i % WIDTH];
    run_compiled(p->function);
}

static unsigned parts_verify(parts *p, float *out, const char *title) {
    race r = {.out = out, .out_size = SIZE};
    race_add(&r,
             (contestant){
                 .role = ROLE_OURS, .name = "ours", .variant = "", .run = run_whole, .state = p});
    race_add(&r, (contestant){.role = ROLE_OTHER,
                              .name = "in parts",
                              .variant = "",
                              .run = run_parts_and_bias,
                              .state = p});
    return race_verify(&r, title, 1e-5);
}

void bench_epilogue(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    float *x = floats_make(b, SIZE, 1), *out = bench_floats(b, SIZE);
    parts p = {.between = bench_floats(b, SIZE)};
    p.whole = part_make(b, build_whole, x, out);
    p.product = part_make(b, build_product, x, p.between);
    p.function = part_make(b, build_function, p.between, out);
    char title[48];
    snprintf(title, sizeof title, "%dx%dx%d", ROWS, WIDTH, WIDTH);
    b->wrong += parts_verify(&p, out, title);
    race r = {.work = 1}; /* the parts differ in what they compute */
    compiled_race(&r, ROLE_OURS, "ours", p.whole);
    compiled_race(&r, ROLE_OTHER, "bare matmul", p.product);
    compiled_race(&r, ROLE_OTHER, "bare tanh", p.function);
    race_add(&r, (contestant){.role = ROLE_OTHER,
                              .name = "bare matmul, then bare tanh",
                              .variant = "",
                              .run = run_parts,
                              .state = &p});
    bench_race(b, &r, title, 0);
    eg__arena_scope_end(b->arena, scope);
}

/* ---- a multilayer perceptron */
static const size_t WIDTHS[MLP_LAYERS + 1] = {64, 256, 256, 64};
static const char *const NAMES[MLP_LAYERS] = {"a", "b", "c"};
static const size_t BATCHES[] = {32, 128};
enum { BATCH_COUNT = sizeof BATCHES / sizeof *BATCHES, TRAIN_BATCH = 128 };

static eg_node build_mlp(compiled *c, size_t batch) {
    eg_node x = eg_input(c->graph, "x", EG_F32, 2, (uint64_t[]){batch, WIDTHS[0]});
    for (int i = 0; i < MLP_LAYERS; i++) {
        x = compiled_linear(c, NAMES[i], x, WIDTHS[i], WIDTHS[i + 1]);
        if (i < MLP_LAYERS - 1) x = eg_tanh(c->graph, x);
    }
    return x;
}

/* Of the products alone, one multiplication and one addition per weight and row. */
static double layer_flops(size_t batch, int i) {
    return 2.0 * (double)(batch * WIDTHS[i] * WIDTHS[i + 1]);
}
static double mlp_flops(size_t batch) {
    double sum = 0;
    for (int i = 0; i < MLP_LAYERS; i++) sum += layer_flops(batch, i);
    return sum;
}

static float *transposed(bench *b, const float *w, size_t rows, size_t columns) {
    float *out = bench_floats(b, rows * columns);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) out[j * rows + i] = w[i * columns + j];
    return out;
}

static mlp_problem problem_make(bench *b, const compiled *c, size_t batch) {
    mlp_problem p = {.batch = batch};
    for (int i = 0; i <= MLP_LAYERS; i++) {
        p.width[i] = WIDTHS[i];
        p.value[i] = floats_make(b, batch * WIDTHS[i], 1);
    }
    for (int i = 0; i < MLP_LAYERS; i++) {
        char weights[16], bias[16];
        snprintf(weights, sizeof weights, "%s.w", NAMES[i]);
        snprintf(bias, sizeof bias, "%s.b", NAMES[i]);
        p.w[i] = compiled_parameter(c, weights);
        p.wt[i] = transposed(b, p.w[i], WIDTHS[i], WIDTHS[i + 1]);
        p.bias[i] = compiled_parameter(c, bias);
    }
    return p;
}

static void mlp_case(bench *b, size_t batch) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    compiled *c = compiled_start(b);
    compiled_finish(c, 1, &(eg_output){"y", build_mlp(c, batch)});
    mlp_problem p = problem_make(b, c, batch);
    compiled_bind(c, "x", p.value[0]);
    compiled_bind(c, "y", p.value[MLP_LAYERS]);
    race r = {.out = p.value[MLP_LAYERS],
              .out_size = batch * WIDTHS[MLP_LAYERS],
              .work = mlp_flops(batch)};
    char title[48];
    snprintf(title, sizeof title, "batch %zu", batch);
    compiled_race(&r, ROLE_OURS, "ours", c);
    peers_mlp(b, &r, &p);
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, title, 1e-5);
    eg__arena_scope_end(b->arena, scope);
}

void bench_mlp(bench *b) {
    for (int i = 0; i < BATCH_COUNT; i++) mlp_case(b, BATCHES[i]);
}

/* The gradients of all parameters are the outputs. */
static void finish_gradients(compiled *c, eg_node loss) {
    static const char *const names[] = {"d0", "d1", "d2", "d3", "d4", "d5"};
    eg_node gradients[2 * MLP_LAYERS];
    eg_output outputs[2 * MLP_LAYERS];
    eg_error error;
    if (eg_gradient(c->graph, loss, c->parameter_count, c->parameters, gradients, &error) != EG_OK)
        bench_fail("%s", error.message);
    for (size_t i = 0; i < c->parameter_count; i++)
        outputs[i] = (eg_output){names[i], gradients[i]};
    compiled_finish(c, c->parameter_count, outputs);
    compiled_own_outputs(c);
}

/* Each layer once more for its weights and once more for its input, which the first does not need. */
void bench_mlp_train(bench *b) {
    eg__arena_scope scope = eg__arena_scope_begin(b->arena);
    const size_t batch = TRAIN_BATCH, last = WIDTHS[MLP_LAYERS];
    compiled *c = compiled_start(b);
    eg_node y = build_mlp(c, batch),
            target = eg_input(c->graph, "target", EG_F32, 2, (uint64_t[]){batch, last}),
            error = eg_sub(c->graph, y, target);
    finish_gradients(c, eg_mean(c->graph, eg_mul(c->graph, error, error), EG_ALL_AXES, 0));
    compiled_bind(c, "x", floats_make(b, batch * WIDTHS[0], 1));
    compiled_bind(c, "target", floats_make(b, batch * last, 2));
    race r = {.work = 3 * mlp_flops(batch) - layer_flops(batch, 0)};
    char title[48];
    snprintf(title, sizeof title, "batch %zu", batch);
    compiled_race(&r, ROLE_OURS, "ours", c);
    bench_add_peak(b, &r, NULL);
    bench_race(b, &r, title, 0);
    eg__arena_scope_end(b->arena, scope);
}
