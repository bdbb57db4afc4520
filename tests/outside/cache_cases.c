/* Programs of one kernel each, for check-cache: run many times under cachegrind, or simulated.
 *   cache_cases run CASE RUNS        cache_cases simulate CASE [SAMPLING] */
#include <elegans/elegans.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef eg_node build_function(eg_graph *g, const uint64_t *shape);

static eg_node build_product(eg_graph *g, const uint64_t *s) {
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){s[0], s[2]});
    return eg_matmul(g, x, eg_parameter(g, "w", 2, (uint64_t[]){s[2], s[1]}));
}

/* a fully connected layer: the chain runs inside of the product */
static eg_node build_layer(eg_graph *g, const uint64_t *s) {
    eg_node bias = eg_parameter(g, "b", 2, (uint64_t[]){1, s[1]});
    return eg_tanh(g, eg_add(g, build_product(g, s), bias));
}

static eg_node build_gate(eg_graph *g, const uint64_t *s) {
    eg_node a = eg_input(g, "a", EG_F32, 2, s), b = eg_input(g, "b", EG_F32, 2, s);
    eg_node ta = eg_input(g, "ta", EG_F32, 2, s), tb = eg_input(g, "tb", EG_F32, 2, s);
    eg_node ts = eg_input(g, "ts", EG_F32, 2, (uint64_t[]){s[0], 1});
    eg_node f = eg_tanh(g, a), h = eg_tanh(g, b);
    eg_node t = eg_sigmoid(g, eg_add(g, eg_mul(g, ta, ts), tb));
    return eg_add(g, f, eg_mul(g, t, eg_sub(g, h, f)));
}

/* the same numbers in a chain that no compiled kernel knows: the interpreter runs it */
static eg_node build_chain(eg_graph *g, const uint64_t *s) {
    return eg_sqrt(g, eg_abs(g, build_gate(g, s)));
}

/* what LTC does with its sums */
static eg_node build_update(eg_graph *g, const uint64_t *s) {
    eg_node sum[2];
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 2; i++)
        sum[i] = eg_add(g, eg_input(g, names[2 * i], EG_F32, 2, s),
                        eg_input(g, names[2 * i + 1], EG_F32, 2, s));
    return eg_div(g, sum[0], sum[1]);
}

/* nothing but loads, stores and arithmetic */
static eg_node build_light(eg_graph *g, const uint64_t *s) {
    eg_node a = eg_input(g, "a", EG_F32, 2, s), b = eg_input(g, "b", EG_F32, 2, s);
    return eg_mul(g, eg_sub(g, a, b), eg_add(g, a, b));
}

static eg_node build_softmax(eg_graph *g, const uint64_t *s) {
    return eg_softmax(g, eg_input(g, "x", EG_F32, 2, s));
}

static eg_node build_norm(eg_graph *g, const uint64_t *s) {
    return eg_layer_norm(g, eg_input(g, "x", EG_F32, 2, s), 1e-5);
}

static eg_node linear(eg_graph *g, const char *name, eg_node x, uint64_t from, uint64_t to) {
    return eg_matmul(g, x, eg_parameter(g, name, 2, (uint64_t[]){from, to}));
}

/* a liquid cell over time: steps, samples, units */
static eg_node build_cell(eg_graph *g, const uint64_t *s) {
    eg_node xs = eg_input(g, "x", EG_F32, 3, (uint64_t[]){s[0], s[1], 16});
    eg_node timespans = eg_input(g, "ts", EG_F32, 3, (uint64_t[]){s[0], s[1], 1});
    eg_node scan = eg_scan(g, s[0], 0);
    eg_node h = eg_scan_carry(g, scan, eg_input(g, "h", EG_F32, 2, s + 1));
    eg_node both[] = {eg_scan_step(g, scan, xs), h};
    eg_node q = eg_tanh(g, linear(g, "q", eg_concat(g, 1, 2, both), 16 + s[2], 128));
    eg_node a = eg_tanh(g, linear(g, "a", q, 128, s[2]));
    eg_node b = eg_tanh(g, linear(g, "b", q, 128, s[2]));
    eg_node ta = eg_mul(g, eg_scan_step(g, scan, timespans), linear(g, "ta", q, 128, s[2]));
    eg_node t = eg_sigmoid(g, eg_add(g, ta, linear(g, "tb", q, 128, s[2])));
    eg_node next = eg_add(g, a, eg_mul(g, t, eg_sub(g, b, a)));
    eg_scan_update(g, h, next);
    return eg_scan_stack(g, scan, next);
}

/* samples, neurons, synapses of each */
static eg_node build_synapses(eg_graph *g, const uint64_t *s) {
    enum { MOST = 4096 };
    static int32_t source[MOST], target[MOST];
    const uint64_t count = s[1] * s[2];
    for (uint64_t i = 0; i < count && i < MOST; i++) {
        source[i] = (int32_t)(i * 7 % s[1]);
        /* one sample takes the list by rows of sixteen neurons */
        target[i] = (int32_t)(s[0] > 1 ? i / s[2] : i / (16 * s[2]) * 16 + i % 16);
    }
    const eg_tensor from = {EG_I32, 1, {count}, source}, to = {EG_I32, 1, {count}, target};
    const eg_synapse_nodes nodes = {
        .v = eg_input(g, "v", EG_F32, 2, s),
        .weight = eg_parameter(g, "weight", 1, &count),
        .middle = eg_parameter(g, "middle", 1, &count),
        .slope = eg_parameter(g, "slope", 1, &count),
        .reversal = eg_parameter(g, "reversal", 1, &count),
        .source = eg_constant(g, &from),
        .target = eg_constant(g, &to),
    };
    return eg_synapses(g, &nodes, s[1]);
}

/* Valgrind takes a vector that an FMA reads from memory for as many references as it has lanes. Most
 * kernels read constants as well, or registers that were spilled. `plain`: not this one, so that the
 * number of references is known. */
static const struct {
    const char *name;
    build_function *build;
    uint64_t shape[3];
    int plain;
    double fma_vectors; /* read by FMAs themselves, in a run */
} cases[] = {
    {"gemm-128x256x256", build_product, {128, 256, 256}, 1, 0},
    {"gemv-256x256", build_product, {1, 256, 256}, 1, 256 * 256 / 8},
    {"layer-64x256x64", build_layer, {64, 256, 64}, 0, 0},
    {"light-4096", build_light, {64, 64, 0}, 0, 0},
    {"row-1x256x256", build_layer, {1, 256, 256}, 0, 0},
    {"update-16384", build_update, {128, 128, 0}, 1, 0},
    {"gate-8192", build_gate, {128, 64, 0}, 0, 0},
    {"gate-1M", build_gate, {1024, 1024, 0}, 0, 0},
    {"chain-4096", build_chain, {64, 64, 0}, 0, 0},
    {"softmax-384x1024", build_softmax, {384, 1024, 0}, 0, 0},
    {"layernorm-384x1024", build_norm, {384, 1024, 0}, 1, 0},
    {"cfc-8x16x64", build_cell, {8, 16, 64}, 0, 0},
    {"synapses-64x32x16", build_synapses, {64, 32, 16}, 0, 0},
    {"synapses-1x64x64", build_synapses, {1, 64, 64}, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* What the first and the last cache of the check look like: the same to both. */
static const eg_cache_geometry geometry = {
    .levels = 2, .level = {{"L1d", 32768, 8, 64}, {"LL", 1048576, 16, 64}}};

static int fail(const eg_error *error) {
    fprintf(stderr, "cache_cases: %s\n", error->message);
    return 1;
}

static int bind_all(eg_program *program, eg_instance *instance, eg_error *error) {
    for (int kind = EG_LEAF_INPUT; kind <= EG_LEAF_OUTPUT; kind++) {
        eg_tensor tensor;
        const char *name;
        for (size_t i = 0; (name = eg_program_leaf(program, (eg_leaf_kind)kind, i, &tensor)); i++) {
            uint64_t elements, bytes;
            if (eg_tensor_measure(&tensor, &elements, &bytes, error)) return 1;
            tensor.data = aligned_alloc(64, (bytes + 63) / 64 * 64);
            if (!tensor.data) return 1;
            memset(tensor.data, 0, bytes);
            if (eg_instance_bind(instance, name, &tensor, error)) return 1;
        }
    }
    return 0;
}

static int run(eg_program *program, long runs, eg_error *error) {
    eg_weights *weights;
    eg_instance *instance;
    if (eg_weights_create(program, &weights, error) ||
        eg_instance_create(program, weights, &instance, error))
        return 1;
    if (bind_all(program, instance, error)) return 1;
    for (long i = 0; i < runs; i++)
        if (eg_run(instance, NULL, error)) return 1;
    return 0;
}

/* accesses, misses of the first and of the last cache, references that valgrind should count or 0 */
static int simulate(const eg_program *program, size_t at, long sampling, eg_error *error) {
    const eg_cache_options options = {.sampling = (uint32_t)sampling};
    eg_cache_result result;
    if (eg_cache_simulate(program, &geometry, &options, &result, NULL, error)) return 1;
    printf("%.0f %.0f %.0f %.0f\n", result.level[0].accesses, result.level[0].misses,
           result.level[1].misses,
           cases[at].plain ? result.level[0].accesses + 7 * cases[at].fma_vectors : 0);
    return 0;
}

int main(int count, char **argument) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_error error = {0};
    const eg_context_options options = {.size = sizeof options, .threads = 1, .isa = "avx2"};
    size_t at = 0;
    while (count > 2 && at < CASES && strcmp(cases[at].name, argument[2]) != 0) at++;
    if (count < 3 || at == CASES) {
        for (at = 0; at < CASES; at++) puts(cases[at].name);
        return count < 2 ? 0 : 2;
    }
    if (eg_context_create(&options, &context, &error) || eg_graph_create(context, &g, &error))
        return fail(&error);
    const eg_output output = {"y", cases[at].build(g, cases[at].shape)};
    if (eg_compile(context, g, 1, &output, NULL, &program, &error)) return fail(&error);
    const long number = count > 3 ? atol(argument[3]) : 1;
    if (argument[1][0] == 'r' ? run(program, number, &error)
                              : simulate(program, at, number, &error))
        return fail(&error);
    return 0;
}
