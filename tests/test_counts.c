/* FLOPs and bytes, counted by hand: of every operation, and of whole networks. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(counts, "FLOPs and bytes of operations and networks are what a hand counts")

/* One node of each kind on small shapes: FLOPs, and bytes that are read and written. */
TEST(counts, operations) {
    eg_context *context;
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_context_create(&context, NULL, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node a = eg_input(g, "a", EG_F32, 2, (uint64_t[]){4, 6});
    const eg_node b = eg_input(g, "b", EG_F32, 2, (uint64_t[]){6, 5});
    const eg_node row = eg_input(g, "row", EG_F32, 1, (uint64_t[]){6});
    const eg_node index = eg_input(g, "index", EG_I32, 1, (uint64_t[]){3});
    const eg_node two[] = {a, a};
    const unsigned swap[] = {1, 0};
    const struct {
        const char *name;
        eg_node node;
        double flops, bytes; /* bytes: 4 for each number in and out */
    } cases[] = {
        {"tanh", eg_tanh(g, a), 24, 4 * (24 + 24)},
        {"add", eg_add(g, a, a), 24, 4 * (24 + 24 + 24)},
        {"add a row", eg_add(g, a, row), 24, 4 * (24 + 6 + 24)},
        {"select", eg_select(g, a, a, row), 24, 4 * (24 + 24 + 6 + 24)},
        {"dropout", eg_dropout(g, a, 0.5), 24, 4 * (24 + 24)},
        {"sum", eg_sum(g, a, 2, 0), 24, 4 * (24 + 4)},
        {"largest", eg_largest(g, a, EG_ALL_AXES, 0), 24, 4 * (24 + 1)},
        {"argmax", eg_argmax(g, a), 24, 4 * (24 + 4)},
        {"matmul", eg_matmul(g, a, b), 2 * 4 * 5 * 6, 4 * (24 + 30 + 20)},
        {"transpose", eg_transpose(g, a, swap), 0, 4 * (24 + 24)},
        {"slice", eg_slice(g, a, 1, 2, 3), 0, 4 * (24 + 12)},
        {"concat", eg_concat(g, 0, 2, two), 0, 4 * (24 + 24 + 48)},
        {"gather", eg_gather(g, a, index), 0, 4 * (24 + 3 + 18)},
        /* of each number: its difference to the largest, exp, sum, division, and finding the largest */
        {"softmax", eg_softmax(g, a), 5 * 24, 4 * (24 + 24)},
        /* mean, difference, square, sum, scaling, and the like */
        {"layer norm", eg_layer_norm(g, a, 1e-5), 0, 4 * (24 + 24)},
        {"rms norm", eg_rms_norm(g, a, 1e-5), 0, 4 * (24 + 24)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_node_info info;
        CHECK_OK(eg_graph_node(g, cases[i].node, &info, &error), error);
        const bool norm = strstr(cases[i].name, "norm") != NULL;
        CHECK(norm ? info.flops >= 4 * 24 && info.flops <= 8 * 24 : info.flops == cases[i].flops,
              "%s: %g FLOPs, not %g", cases[i].name, info.flops, cases[i].flops);
        CHECK(info.bytes == cases[i].bytes, "%s: %g bytes, not %g", cases[i].name, info.bytes,
              cases[i].bytes);
    }
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* The FLOPs of a compiled model, batch x time. */
static double flops_of(eg_context *context, const char *spec, uint64_t batch, uint64_t time) {
    eg_error error;
    eg_model *model;
    eg_graph *g;
    eg_model_nodes n;
    eg_program *program;
    eg_program_info info;
    const eg_model_options how = {.batch = batch, .time = time, .spans = 1};
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_OK(eg_model_build(model, g, &how, &n, &error), error);
    const eg_output output = {"y", n.y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info_get(program, &info);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_model_destroy(model);
    return info.flops;
}

TEST(counts, networks) {
    enum { B = 8, T = 5 };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&context, NULL, &error), error);
    /* an MLP 16-32-8: two products, biases, tanh between */
    eg_graph *g;
    eg_program *program;
    eg_program_info info;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){B, 16});
    x = eg_matmul(g, x, eg_parameter(g, "w1", 2, (uint64_t[]){16, 32}));
    x = eg_tanh(g, eg_add(g, x, eg_parameter(g, "b1", 1, (uint64_t[]){32})));
    x = eg_matmul(g, x, eg_parameter(g, "w2", 2, (uint64_t[]){32, 8}));
    x = eg_add(g, x, eg_parameter(g, "b2", 1, (uint64_t[]){8}));
    const eg_output output = {"y", x};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info_get(program, &info);
    const double mlp = 2.0 * B * 16 * 32 + 2.0 * B * 32 + 2.0 * B * 32 * 8 + B * 8;
    CHECK(info.flops == mlp, "an MLP: %g FLOPs, not %g", info.flops, mlp);
    eg_program_release(program);
    eg_graph_destroy(g);
    /* a CfC of 16 units, 6 inputs, one backbone layer of 32 (silu): per sample and step the products
     * (6 + 16) x 32 and 32 x 64 with biases, 32 silu, and per unit the gate: two tanh, time term (2 of
     * multiply and add), sigmoid, mixing (4) */
    const double products = 2.0 * (22 * 32 + 32 * 64), biases = 32 + 64, silu = 32;
    const double least = B * T * (products + biases + silu + 16 * 6.0);
    const double got = flops_of(context, "cfc:16,in=6,backbone=32,activation=silu", B, T);
    CHECK(got >= least && got <= least + B * T * 16 * 6.0, "a CfC: %g FLOPs, not %g to %g", got,
          least, least + B * T * 16 * 6.0);
    /* an LTC, fully connected: per sample and step 6 unfolds of n x n synapses and once inputs x n, of
     * which each takes 2 (slope, middle), a sigmoid, 1 (weight) and 3 (two sums), 6 to 8 in all */
    const double synapses = 6.0 * 8 * 8 + 4 * 8,
                 each = flops_of(context, "ltc:full:8:2,in=4", B, T);
    CHECK(each / (B * T) >= 6 * synapses && each / (B * T) <= 12 * synapses,
          "an LTC: %g FLOPs per step, of %g synapses", each / (B * T), synapses);
    eg_context_destroy(context);
}
