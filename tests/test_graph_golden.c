/* A CfC written by hand as a graph, against outputs and gradients of the original implementation
 * (ncps on torch, stored in tests/fixtures/golden). */
#include "test.h"
#include "formats/files/npz.h"
#include "elegans/program.h"
#include "engine/context.h"
#include "graph/graph.h"

#include <math.h>

AREA(golden, "a CfC by hand against ncps, in double and compiled: outputs and gradients")

enum { B = 5, T = 7, I = 6, N = 17, PARAMETERS = 12 };
static const char *const names[PARAMETERS] = {
    "backbone.0.weight", "backbone.0.bias", "backbone.2.weight", "backbone.2.bias",
    "ff1.weight",        "ff1.bias",        "ff2.weight",        "ff2.bias",
    "time_a.weight",     "time_a.bias",     "time_b.weight",     "time_b.bias"};

typedef struct golden {
    eg__memory *memory;
    eg_npz *archive;
} golden;

/* A tensor of the archive, as doubles that the caller frees. */
static double *load(const golden *file, const char *prefix, const char *name, eg_tensor *shape) {
    char key[200];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    eg_error error;
    eg_tensor tensor = {0};
    CHECK_OK(eg_npz_read(file->archive, key, &tensor, &error), error);
    uint64_t n = 0;
    eg_tensor_measure(&tensor, &n, NULL, NULL);
    double *values = test_alloc((n + 1) * sizeof *values);
    for (uint64_t i = 0; i < n; i++) values[i] = ((const float *)tensor.data)[i];
    if (shape) *shape = tensor;
    eg__memory_give(file->memory, tensor.data);
    return values;
}

/* x W' + b, as torch stores its weights */
static eg_node linear(eg_graph *g, eg_node x, const eg_node *weight) {
    return eg_add(g, eg_matmul_transposed(g, x, 0, weight[0], 1), weight[1]);
}

/* The last output of the network: sequence [T,B,I], time spans [T,B,1]. */
static eg_node cfc(eg_graph *g, eg_node xs, eg_node timespans, const eg_node *w) {
    eg_node zeros = eg_broadcast(g, eg_scalar(g, 0), 2, (uint64_t[]){B, N});
    eg_node scan = eg_scan(g, T, 0), h = eg_scan_carry(g, scan, zeros);
    eg_node parts[] = {eg_scan_step(g, scan, xs), h};
    eg_node q = eg_silu(g, linear(g, eg_concat(g, 1, 2, parts), w));
    q = eg_silu(g, linear(g, q, w + 2));
    eg_node f1 = eg_tanh(g, linear(g, q, w + 4)), f2 = eg_tanh(g, linear(g, q, w + 6));
    eg_node time = eg_mul(g, eg_scan_step(g, scan, timespans), linear(g, q, w + 8));
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(g, q, w + 10)));
    eg_node keep = eg_mul(g, f1, eg_sub(g, eg_scalar(g, 1), gate));
    eg_scan_update(g, h, eg_add(g, keep, eg_mul(g, gate, f2)));
    return eg_scan_last(g, h);
}

static void check_equal(const char *what, const double *got, const double *expected, size_t n,
                        double tolerance) {
    double worst = 0, size = 1e-30;
    for (size_t i = 0; i < n; i++) {
        worst = test_worse(worst, fabs(got[i] - expected[i]));
        size = fmax(size, fabs(expected[i]));
    }
    CHECK(worst <= tolerance * size, "%s: off by %g of %g", what, worst, size);
}

/* The output and all gradients against those of the original. */
static void check_all(const golden *file, const eg_graph *g, const eg_node *wrt, double *const *out,
                      double tolerance) {
    double *expected = load(file, "", "output", NULL);
    check_equal("output", out[0], expected, B * N, tolerance);
    free(expected);
    for (int i = 0; i <= PARAMETERS; i++) {
        const char *name = i ? names[i - 1] : "input";
        expected = load(file, i ? "grad.param.rnn_cell." : "grad.", name, NULL);
        check_equal(name, out[i + 1], expected, eg__node_elements(eg__node_at(g, wrt[i])),
                    tolerance);
        free(expected);
    }
}

static eg_tensor tensor_of(const eg__node *node, const double *values) {
    eg_tensor tensor = {EG_F32, node->rank, {0}, NULL};
    memcpy(tensor.shape, node->shape, sizeof tensor.shape);
    const size_t n = (size_t)eg__node_elements(node);
    float *data = test_alloc(n * sizeof *data);
    for (size_t i = 0; i < n; i++) data[i] = (float)values[i];
    tensor.data = data;
    return tensor;
}

/* The same graph as a program. */
static void run_compiled(eg_context *context, const eg_graph *g, const eg__binding *bound,
                         const eg_node *results, double *const *out) {
    static const char *const outputs[PARAMETERS + 2] = {
        "y", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12"};
    eg_output wanted[PARAMETERS + 2];
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_error error;
    eg_tensor tensor, got[PARAMETERS + 2];
    for (int i = 0; i < PARAMETERS + 2; i++) wanted[i] = (eg_output){outputs[i], results[i]};
    CHECK_OK(eg_compile(context, g, PARAMETERS + 2, wanted, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    eg_tensor timespans = {0};
    for (int i = 0; i < PARAMETERS + 2; i++) {
        const eg__node *node = eg__node_at(g, bound[i].leaf);
        tensor = tensor_of(node, bound[i].data);
        if (node->op == EG__GRAPH_parameter) {
            CHECK_OK(eg_weights_set(weights, node->name, &tensor, &error), error);
            free(tensor.data);
        } else {
            CHECK_OK(eg_instance_bind(instance, node->name, &tensor, &error), error);
            timespans = tensor;
        }
        CHECK_OK(eg_instance_output(instance, outputs[i], &got[i], &error), error);
    }
    CHECK_OK(eg_run(instance, NULL, &error), error);
    for (int i = 0; i < PARAMETERS + 2; i++)
        for (size_t k = 0; k < (size_t)eg__node_elements(eg__node_at(g, results[i])); k++)
            out[i][k] = ((const float *)got[i].data)[k];
    free(timespans.data);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
}

TEST(golden, cfc_by_hand) {
    golden file;
    eg_error error = {0};
    eg_context *context;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    file.memory = eg__context_memory(context);
    CHECK_OK(eg__npz_open(file.memory, test_path("fixtures/golden/cfc_default_silu.npz"),
                          &file.archive, &error),
             error);
    eg_graph *g;
    CHECK_OK(eg__graph_new(file.memory, &g, &error), error);
    eg_node input = eg_parameter(g, "input", 3, (uint64_t[]){B, T, I});
    eg_node timespans = eg_input(g, "timespans", EG_F32, 2, (uint64_t[]){B, T});
    eg__binding bound[PARAMETERS + 2] = {{input, load(&file, "", "input", NULL)},
                                         {timespans, load(&file, "", "timespans", NULL)}};
    eg_node wrt[PARAMETERS + 1] = {input}, results[PARAMETERS + 2];
    for (int i = 0; i < PARAMETERS; i++) {
        eg_tensor shape;
        double *values = load(&file, "param.rnn_cell.", names[i], &shape);
        wrt[i + 1] = eg_parameter(g, names[i], shape.rank, shape.shape);
        bound[i + 2] = (eg__binding){wrt[i + 1], values};
    }
    eg_node xs = eg_transpose(g, input, (unsigned[]){1, 0, 2});
    eg_node ts =
        eg_reshape(g, eg_transpose(g, timespans, (unsigned[]){1, 0}), 3, (uint64_t[]){T, B, 1});
    results[0] = cfc(g, xs, ts, wrt + 1);
    eg_node loss = eg_sum(g, eg_mul(g, results[0], results[0]), EG_ALL_AXES, 0);
    CHECK_OK(eg_gradient(g, loss, PARAMETERS + 1, wrt, results + 1, &error), error);
    double *out[PARAMETERS + 2];
    for (int i = 0; i < PARAMETERS + 2; i++)
        out[i] = test_alloc(eg__node_elements(eg__node_at(g, results[i])) * sizeof **out);
    CHECK_OK(eg__graph_evaluate(g, PARAMETERS + 2, bound, PARAMETERS + 2, results, out, false, 0,
                                &error),
             error);
    check_all(&file, g, wrt, out, 2e-6);
    run_compiled(context, g, bound, results, out);
    check_all(&file, g, wrt, out, 1e-5);
    for (int i = 0; i < PARAMETERS + 2; i++) free(out[i]), free(bound[i].data);
    eg_graph_destroy(g);
    eg_npz_close(file.archive);
    eg_context_destroy(context);
}
