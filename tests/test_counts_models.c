/* FLOPs and bytes of whole networks, counted by hand. */
#include "test.h"
#include "elegans/elegans.h"

AREA(counts_models, "FLOPs and bytes of an MLP, a CfC and an LTC are what a hand counts")

/* ---- networks: what a run computes, and the numbers that its steps read and write */
enum { B = 8, T = 5 };

static void check_program(eg_context *context, const eg_graph *g, eg_node y, const char *name,
                          double flops, double numbers) {
    eg_program *program;
    eg_program_info info = {.size = sizeof info};
    eg_error error;
    const eg_output output = {"y", y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info_get(program, &info);
    CHECK(info.flops == flops, "%s: %g FLOPs, not %g", name, info.flops, flops);
    CHECK(info.bytes == 4 * numbers, "%s: %g numbers, not %g", name, info.bytes / 4, numbers);
    eg_program_release(program);
}

static void check_model(eg_context *context, const char *spec, double flops, double numbers) {
    eg_error error;
    eg_model *model;
    eg_graph *g;
    eg_model_nodes n;
    const eg_model_options options = {.batch = B, .time = T, .timespans = 1};
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, &options, &n, &error), error);
    check_program(context, g, n.y, spec, flops, numbers);
    eg_graph_destroy(g);
    eg_model_destroy(model);
}

/* 16-32-8: two products with biases, tanh between. Each product ends with its bias, and the second is written
 * where the output is. */
static void check_mlp(eg_context *context, uint64_t batch) {
    eg_graph *g;
    eg_error error;
    const double n = (double)batch;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){batch, 16});
    x = eg_matmul(g, x, eg_parameter(g, "w1", 2, (uint64_t[]){16, 32}));
    x = eg_tanh(g, eg_add(g, x, eg_parameter(g, "b1", 1, (uint64_t[]){32})));
    x = eg_matmul(g, x, eg_parameter(g, "w2", 2, (uint64_t[]){32, 8}));
    x = eg_add(g, x, eg_parameter(g, "b2", 1, (uint64_t[]){8}));
    const double first = n * 16 + 16 * 32 + n * 32 + 32;
    const double second = n * 32 + 32 * 8 + n * 8 + 8;
    check_program(context, g, x, "an MLP", n * (2 * 16 * 32 + 32 + 32) + n * (2 * 32 * 8 + 8),
                  first + second);
    eg_graph_destroy(g);
}

TEST(counts_models, mlp) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    check_mlp(context, B);
    check_mlp(context, 1);
    eg_context_destroy(context);
}

/* 16 units, 6 inputs, a backbone of 32 with silu, four heads of 16: the input's part of the first product is one
 * for all steps. Per unit the gate: two tanh, span times a, plus b, sigmoid, difference, product, sum. */
TEST(counts_models, cfc) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    const double input = 2 * 6 * 32 + 32, backbone = 2 * 16 * 32 + 32 + 32,
                 heads = 2 * 32 * 64 + 64, gate = 16 * 8;
    const double before = (B * T * 6 + 6 * 32 + B * T * 32 + 32) /* the input's part */
                          + (1 + B * 16);                        /* a state of zeros */
    const double each = (B * 16 + 16 * 32 + B * 32 + B * 32)     /* h, weights, sum; input's part */
                        + (B * 32 + 32 * 64 + B * 64 + 64) /* backbone, weights, heads; biases */
                        + (B * 64 + B + 2 * B * 16);       /* heads, spans; state and result */
    check_model(context, "cfc:16,in=6,backbone=32,activation=silu",
                B * T * (input + backbone + heads + gate), before + T * each);
    eg_context_destroy(context);
}

/* 8 neurons, 4 inputs, 2 outputs, everything connected, 6 unfolds. */
TEST(counts_models, ltc) {
    enum { N = 8, IN = 4, OUT = 2, UNFOLDS = 6, S = N * N };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    /* per sample and step: x w + b; sensory synapses; rest + their currents; leak + their conductances +
     * capacity / span; h w + b */
    const double outside = 2 * IN + 10.0 * IN * N + N + 3 * N + 2 * OUT;
    /* capacity / span once; each unfold: synapses, capacity v, two sums of currents, one of conductances, a
     * division; and whether the span is zero, and which state it is then */
    const double inside = N + UNFOLDS * (10.0 * S + 5 * N) + 1 + N;
    const double before = (2 * B * T * IN + 2 * IN)                   /* inputs */
                          + (B * T * IN + B * T * 2 * N + 5 * IN * N) /* sensory synapses */
                          + (B * T * N + N + B * T * N)               /* currents, rest */
                          + (B * T * N + N + N + B * T + B * T * N)   /* leak, capacity, spans */
                          + (1 + B * N)                               /* a state of zeros */
                          + (2 * B * T * OUT + 2 * OUT);              /* outputs */
    const double synapses = B * N + B * 2 * N + 5 * S;
    const double sums = B * 2 * N + B * N + B * N; /* of these and of the sensory synapses */
    /* the second product is not where the output is: its sum with the bias is written beside it */
    const double first = sums + B * N + N + B + 3 * B * N; /* v, capacity, span; v, c/span, c v */
    const double middle = sums + 2 * B * N + 2 * B * N;    /* c/span, c v; v, c v */
    const double last = sums + B * N + B * N + B + 2 * B * N; /* c v, h, zero; state and result */
    const double zero = B + 1 + B;
    check_model(context, "ltc:full:8:2,in=4", B * T * (outside + inside),
                before + T * (UNFOLDS * synapses + first + (UNFOLDS - 2) * middle + zero + last));
    eg_context_destroy(context);
}
