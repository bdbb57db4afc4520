/* The kernels that efficiencies are fitted to: products, chains, synapses, rows and copies. Each is
 * a program, so that costs are counted as in real programs. */
#include "elegans/program.h"
#include "engine/context.h"
#include "profile/project/project.h"

#include <stdio.h>
#include <string.h>

typedef enum what {
    PRODUCT,
    BIAS,
    BIAS_TANH,
    BIAS_SILU,
    ADD,
    ADD_COLUMN,
    CHAIN,
    DIVIDE,
    TANH,
    GATE,
    SYNAPSES,
    SOFTMAX,
    LAYER_NORM,
    SUM,
    COLUMN_SUM,
    CONCAT,
    CONCAT_SIX,
    TRANSPOSE,
    LOOP
} what;

typedef struct case_row {
    eg_work work;
    what what;
    uint64_t m, n, k; /* loops: k steps; synapses: m samples, n cells, k synapses of each */
} case_row;
/* The first two give the cost of a run and of a step. */
static const case_row cases[] = {
    {EG_WORK_MOVE, CONCAT, 1, 16, 0},
    {EG_WORK_MOVE, CONCAT_SIX, 1, 16, 0},
    {EG_WORK_MOVE, CONCAT, 32, 16, 0},
    {EG_WORK_MOVE, CONCAT, 1, 64, 0},
    {EG_WORK_MOVE, CONCAT, 32, 29, 0},
    {EG_WORK_MOVE, CONCAT, 32, 64, 0},
    {EG_WORK_MOVE, CONCAT, 256, 24, 0},
    {EG_WORK_MOVE, CONCAT, 256, 256, 0},
    {EG_WORK_MOVE, TRANSPOSE, 64, 64, 0},
    {EG_WORK_GEMM, PRODUCT, 32, 64, 64},
    {EG_WORK_GEMM, PRODUCT, 32, 96, 32},
    {EG_WORK_GEMM, PRODUCT, 8, 64, 64},
    {EG_WORK_GEMM, PRODUCT, 128, 256, 256},
    {EG_WORK_GEMM, BIAS, 32, 48, 40},
    {EG_WORK_GEMM, BIAS, 32, 192, 48},
    {EG_WORK_GEMM, BIAS, 32, 320, 96},
    {EG_WORK_GEMM, BIAS, 1024, 64, 24},
    {EG_WORK_GEMM, BIAS, 1024, 128, 64},
    {EG_WORK_GEMM, BIAS_TANH, 32, 80, 48},
    {EG_WORK_GEMM, BIAS_TANH, 96, 192, 96},
    {EG_WORK_GEMM, BIAS_SILU, 48, 96, 80},
    {EG_WORK_GEMV, PRODUCT, 1, 64, 64},
    {EG_WORK_GEMV, PRODUCT, 1, 256, 256},
    {EG_WORK_GEMV, BIAS, 1, 96, 40},
    {EG_WORK_GEMV, PRODUCT, 1, 48, 24},
    {EG_WORK_GEMV, BIAS, 1, 256, 96},
    {EG_WORK_GEMV, BIAS_TANH, 1, 192, 64},
    {EG_WORK_GEMV, BIAS_TANH, 1, 32, 48},
    {EG_WORK_GEMV, BIAS_SILU, 1, 80, 32},
    {EG_WORK_FUSED, ADD, 1, 64, 0},
    {EG_WORK_FUSED, ADD, 32, 64, 0},
    {EG_WORK_FUSED, ADD_COLUMN, 1024, 64, 0},
    {EG_WORK_FUSED, CHAIN, 32, 48, 0},
    {EG_WORK_FUSED, DIVIDE, 32, 96, 0},
    {EG_WORK_FUSED, DIVIDE, 1, 64, 0},
    {EG_WORK_FUSED, TANH, 64, 64, 0},
    {EG_WORK_FUSED, TANH, 1, 64, 0},
    {EG_WORK_FUSED, GATE, 1, 24, 0},
    {EG_WORK_FUSED, GATE, 32, 24, 0},
    {EG_WORK_FUSED, GATE, 32, 96, 0},
    {EG_WORK_FUSED, GATE, 256, 48, 0},
    {EG_WORK_FUSED, GATE, 32, 14, 0},
    {EG_WORK_FUSED, GATE, 16, 33, 0},
    {EG_WORK_SYNAPSES, SYNAPSES, 32, 48, 14},
    {EG_WORK_SYNAPSES, SYNAPSES, 32, 80, 6},
    {EG_WORK_SYNAPSES, SYNAPSES, 32, 32, 28},
    {EG_WORK_SYNAPSES, SYNAPSES, 64, 96, 10},
    {EG_WORK_SYNAPSES, SYNAPSES, 8, 48, 10},
    {EG_WORK_SYNAPSES, SYNAPSES, 512, 48, 6},
    {EG_WORK_SYNAPSES_ONE, SYNAPSES, 1, 64, 8},
    {EG_WORK_SYNAPSES_ONE, SYNAPSES, 1, 48, 16},
    {EG_WORK_SYNAPSES_ONE, SYNAPSES, 1, 32, 6},
    {EG_WORK_SYNAPSES_ONE, SYNAPSES, 1, 16, 12},
    {EG_WORK_SYNAPSES_ONE, SYNAPSES, 1, 96, 10},
    {EG_WORK_NORMS, SOFTMAX, 128, 384, 0},
    {EG_WORK_NORMS, SOFTMAX, 32, 32, 0},
    {EG_WORK_NORMS, SOFTMAX, 64, 128, 0},
    {EG_WORK_NORMS, LAYER_NORM, 64, 256, 0},
    {EG_WORK_NORMS, LAYER_NORM, 16, 64, 0},
    {EG_WORK_NORMS, LAYER_NORM, 256, 48, 0},
    {EG_WORK_SUMS, SUM, 128, 128, 0},
    {EG_WORK_SUMS, SUM, 256, 32, 0},
    {EG_WORK_SUMS, COLUMN_SUM, 64, 192, 0},
    {EG_WORK_SUMS, COLUMN_SUM, 256, 64, 0},
    {EG_WORK_SCAN, LOOP, 1, 16, 64},
    {EG_WORK_SCAN, LOOP, 1, 16, 256},
};
enum { CASES = sizeof cases / sizeof *cases };

struct eg__fit_case {
    eg_context *context;
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    float *inputs; /* all of them */
    eg_status status;
};

size_t eg__fit_case_count(void) { return CASES; }
eg_work eg__fit_case_work(size_t index) { return cases[index].work; }

static eg_node matrix(eg_graph *g, const char *name, const case_row *c) {
    return eg_input(g, name, EG_F32, 2, (uint64_t[]){c->m, c->n});
}

static eg_node product(eg_graph *g, const case_row *c) {
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){c->m, c->k});
    eg_node y = eg_matmul(g, x, eg_parameter(g, "w", 2, (uint64_t[]){c->k, c->n}));
    if (c->what == PRODUCT) return y;
    y = eg_add(g, y, eg_parameter(g, "b", 1, &c->n));
    return c->what == BIAS_TANH ? eg_tanh(g, y) : c->what == BIAS_SILU ? eg_silu(g, y) : y;
}

static eg_node chain(eg_graph *g, const case_row *c) {
    eg_node a = matrix(g, "a", c), b = matrix(g, "b", c);
    if (c->what == CHAIN)
        return eg_add(g, eg_mul(g, eg_max(g, eg_sub(g, eg_mul(g, eg_add(g, a, b), b), a), b), a),
                      b);
    eg_node up = eg_add(g, eg_add(g, a, b), matrix(g, "c", c)), down = eg_add(g, b, a);
    return eg_mul(g, eg_div(g, up, down), matrix(g, "d", c));
}

/* Operands are four column ranges of the same rows, as the product before leaves them. */
static eg_node gate(eg_graph *g, const case_row *c) {
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){c->m, 4 * c->n}), part[4];
    for (unsigned i = 0; i < 4; i++) part[i] = eg_slice(g, x, 1, i * c->n, c->n);
    eg_node a = eg_tanh(g, part[0]), b = eg_tanh(g, part[1]),
            t = eg_sigmoid(g, eg_add(g, part[2], part[3]));
    return eg_add(g, a, eg_mul(g, t, eg_sub(g, b, a)));
}

enum { LIST = 1024 };
static eg_node synapses(eg_graph *g, const case_row *c) {
    int32_t source[LIST], target[LIST];
    const uint64_t count = c->n * c->k;
    /* In lanes, as in models: sixteen targets side by side with up to k synapses each. In a neural
     * circuit policy about a quarter is padding. */
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t lane = i % 16, place = i / 16 % c->k;
        const bool there = place < c->k - lane * c->k / 32;
        source[i] = (int32_t)(there ? i * 7 % c->n : 0);
        target[i] = there ? (int32_t)(i / (c->k * 16) * 16 + lane) : -1;
    }
    const eg_tensor from = {.type = EG_I32, .rank = 1, .shape = {count}, .data = source},
                    to = {.type = EG_I32, .rank = 1, .shape = {count}, .data = target};
    const eg_synapse_nodes nodes = {matrix(g, "v", c),
                                    eg_parameter(g, "weight", 1, &count),
                                    eg_parameter(g, "middle", 1, &count),
                                    eg_parameter(g, "slope", 1, &count),
                                    eg_parameter(g, "reversal", 1, &count),
                                    eg_constant(g, &from),
                                    eg_constant(g, &to)};
    return eg_synapses(g, &nodes, c->n);
}

static eg_node concat(eg_graph *g, const case_row *c) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    eg_node parts[6];
    const size_t count = c->what == CONCAT_SIX ? 6 : 2;
    for (size_t i = 0; i < count; i++) parts[i] = matrix(g, names[i], c);
    return eg_concat(g, 1, count, parts);
}

static eg_node loop(eg_graph *g, const case_row *c) {
    eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){c->k, c->m, c->n}),
            scan = eg_scan(g, c->k, 0), h = eg_scan_carry(g, scan, matrix(g, "h", c)),
            next = eg_add(g, eg_mul(g, h, eg_scalar(g, 0.5)), eg_scan_step(g, scan, x));
    eg_scan_update(g, h, next);
    return eg_scan_last(g, h);
}

static eg_node build(eg_graph *g, const case_row *c) {
    switch (c->what) {
    case PRODUCT:
    case BIAS:
    case BIAS_TANH:
    case BIAS_SILU: return product(g, c);
    case ADD: return eg_add(g, matrix(g, "a", c), matrix(g, "b", c));
    case ADD_COLUMN: return eg_add(g, matrix(g, "a", c), eg_parameter(g, "b", 1, &c->n));
    case CHAIN:
    case DIVIDE: return chain(g, c);
    case TANH: return eg_tanh(g, matrix(g, "a", c));
    case GATE: return gate(g, c);
    case SYNAPSES: return synapses(g, c);
    case SOFTMAX: return eg_softmax(g, matrix(g, "a", c));
    case LAYER_NORM: return eg_layer_norm(g, matrix(g, "a", c), 1e-5);
    case SUM: return eg_sum(g, matrix(g, "a", c), 2, 0);
    case COLUMN_SUM: return eg_sum(g, matrix(g, "a", c), 1, 0);
    case CONCAT:
    case CONCAT_SIX: return concat(g, c);
    case TRANSPOSE: return eg_transpose(g, matrix(g, "a", c), (unsigned[]){1, 0});
    case LOOP: return loop(g, c);
    }
    return (eg_node){0};
}

/* Floats of an input plus an offset, so that no two inputs have the same page offset. */
static size_t input_size(const eg_tensor *tensor) {
    size_t size = 1;
    for (unsigned i = 0; i < tensor->rank; i++) size *= (size_t)tensor->shape[i];
    return eg__round_up(size, 16) + 16 * 11;
}

static size_t inputs_size(const eg_program *program) {
    eg_tensor tensor;
    size_t sum = 0;
    for (size_t i = 0; eg_program_leaf(program, EG_LEAF_INPUT, i, &tensor); i++)
        sum += input_size(&tensor);
    return sum;
}

static eg_status bind(eg__fit_case *c, eg_error *error) {
    eg_tensor tensor;
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t size = inputs_size(c->program);
    c->inputs =
        eg__memory_take_array(c->context->memory, EG_TAG_MEASURE, size, sizeof *c->inputs, &reason);
    if (!c->inputs) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < size; i++) c->inputs[i] = (float)(i % 29 + 3) / 32;
    const char *name;
    size_t at = 0;
    for (size_t i = 0; (name = eg_program_leaf(c->program, EG_LEAF_INPUT, i, &tensor)); i++) {
        tensor.data = c->inputs + at;
        at += input_size(&tensor);
        eg_status status = eg_instance_bind(c->instance, name, &tensor, error);
        if (status) return status;
    }
    return eg_instance_output(c->instance, "y", &tensor, error);
}

eg_status eg__fit_case_create(eg_context *context, size_t index, eg__fit_case **out,
                              eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__fit_case *c = eg__memory_take_zeroed(context->memory, EG_TAG_MEASURE, sizeof *c, &reason);
    *out = c;
    if (!c) return eg__fail(error, reason.status, "%s", reason.message);
    c->context = context;
    eg_status status = eg_graph_create(context, &c->graph, error);
    if (!status) {
        const eg_output y = {"y", build(c->graph, &cases[index])};
        status = eg_compile(context, c->graph, 1, &y, NULL, &c->program, error);
    }
    if (!status) status = eg_weights_create(c->program, &c->weights, error);
    if (!status) status = eg_instance_create(c->program, c->weights, &c->instance, error);
    if (!status) status = bind(c, error);
    if (!status) return EG_OK;
    eg__fit_case_destroy(c);
    *out = NULL;
    return status;
}

void eg__fit_case_destroy(eg__fit_case *c) {
    if (!c) return;
    eg_instance_destroy(c->instance);
    eg_weights_destroy(c->weights);
    eg_program_release(c->program);
    eg_graph_destroy(c->graph);
    eg__memory_give(c->context->memory, c->inputs);
    eg__memory_give(c->context->memory, c);
}

const eg_program *eg__fit_case_program(const eg__fit_case *c) { return c->program; }

void eg__fit_case_run(void *fit_case) {
    eg__fit_case *c = fit_case;
    eg_status status = eg_run(c->instance, NULL, NULL);
    if (status) c->status = status;
}
