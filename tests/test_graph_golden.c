/* A CfC written by hand as a graph, against outputs and gradients of the original implementation
 * (ncps on torch, stored in tests/fixtures/golden). */
#include "test.h"
#include "formats/npz.h"
#include "graph/graph.h"

#include <math.h>

AREA(golden, "a CfC with two backbone layers and time spans against ncps: outputs and gradients")

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
static eg_node cfc(eg_graph *g, eg_node xs, eg_node spans, const eg_node *w) {
    eg_node zeros = eg_broadcast(g, eg_scalar(g, 0), 2, (uint64_t[]){B, N});
    eg_node scan = eg_scan(g, T, 0), h = eg_scan_carry(g, scan, zeros);
    eg_node parts[] = {eg_scan_step(g, scan, xs), h};
    eg_node q = eg_silu(g, linear(g, eg_concat(g, 1, 2, parts), w));
    q = eg_silu(g, linear(g, q, w + 2));
    eg_node f1 = eg_tanh(g, linear(g, q, w + 4)), f2 = eg_tanh(g, linear(g, q, w + 6));
    eg_node time = eg_mul(g, eg_scan_step(g, scan, spans), linear(g, q, w + 8));
    eg_node gate = eg_sigmoid(g, eg_add(g, time, linear(g, q, w + 10)));
    eg_node keep = eg_mul(g, f1, eg_sub(g, eg_scalar(g, 1), gate));
    eg_scan_update(g, h, eg_add(g, keep, eg_mul(g, gate, f2)));
    return eg_scan_last(g, h);
}

static void check_equal(const char *what, const double *got, const double *expected, size_t n,
                        double tolerance) {
    double worst = 0, size = 1e-30;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(got[i] - expected[i]));
        size = fmax(size, fabs(expected[i]));
    }
    CHECK(worst <= tolerance * size, "%s: off by %g of %g", what, worst, size);
}

TEST(golden, cfc_by_hand) {
    golden file;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&file.memory, NULL, &error), error);
    CHECK_OK(eg__npz_open(file.memory, test_path("fixtures/golden/cfc_default_silu.npz"),
                          &file.archive, &error),
             error);
    eg_graph *g;
    CHECK_OK(eg__graph_new(file.memory, &g, &error), error);
    eg_node input = eg_parameter(g, "input", 3, (uint64_t[]){B, T, I});
    eg_node spans = eg_input(g, "timespans", EG_F32, 2, (uint64_t[]){B, T});
    eg__binding bound[PARAMETERS + 2] = {{input, load(&file, "", "input", NULL)},
                                         {spans, load(&file, "", "timespans", NULL)}};
    eg_node wrt[PARAMETERS + 1] = {input}, results[PARAMETERS + 2];
    for (int i = 0; i < PARAMETERS; i++) {
        eg_tensor shape;
        double *values = load(&file, "param.rnn_cell.", names[i], &shape);
        wrt[i + 1] = eg_parameter(g, names[i], shape.rank, shape.shape);
        bound[i + 2] = (eg__binding){wrt[i + 1], values};
    }
    eg_node xs = eg_transpose(g, input, (unsigned[]){1, 0, 2});
    eg_node ts =
        eg_reshape(g, eg_transpose(g, spans, (unsigned[]){1, 0}), 3, (uint64_t[]){T, B, 1});
    results[0] = cfc(g, xs, ts, wrt + 1);
    eg_node loss = eg_sum(g, eg_mul(g, results[0], results[0]), EG_ALL_AXES, 0);
    CHECK_OK(eg_gradient(g, loss, PARAMETERS + 1, wrt, results + 1, &error), error);
    double *out[PARAMETERS + 2];
    for (int i = 0; i < PARAMETERS + 2; i++)
        out[i] = test_alloc(eg__node_elements(eg__node_at(g, results[i])) * sizeof **out);
    CHECK_OK(eg__graph_evaluate(g, PARAMETERS + 2, bound, PARAMETERS + 2, results, out, false, 0,
                                &error),
             error);
    double *expected = load(&file, "", "output", NULL);
    check_equal("output", out[0], expected, B * N, 1e-6);
    free(expected);
    for (int i = 0; i <= PARAMETERS; i++) {
        expected =
            load(&file, i ? "grad.param.rnn_cell." : "grad.", i ? names[i - 1] : "input", NULL);
        check_equal(i ? names[i - 1] : "input", out[i + 1], expected,
                    eg__node_elements(eg__node_at(g, wrt[i])), 2e-6);
        free(expected);
    }
    for (int i = 0; i < PARAMETERS + 2; i++) free(out[i]), free(bound[i].data);
    eg_graph_destroy(g);
    eg_npz_close(file.archive);
    eg__memory_destroy(file.memory);
}
