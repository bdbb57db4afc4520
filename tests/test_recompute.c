/* Checkpoints outside of scans: the same gradients from less memory. */
#include "graph/steps/program.h"
#include "graph/ops/quantized.h"
#include "test.h"
#include "test_compile.h"
#include "test_models.h"

#include <math.h>

AREA(recompute, "gradients with checkpoints between layers: the same from less memory")

enum { MOST = 64 };
typedef struct network {
    const char *name;
    uint64_t layers, batch, length, width;
    double dropout;
    bool is_transformer;
} network;

typedef struct building {
    eg_graph *g;
    const network *n;
    eg_node parameter[MOST], output[MOST]; /* output: of each layer */
    size_t parameters;
} building;

static eg_node weight(building *b, const char *what, uint64_t layer, unsigned rank, uint64_t rows,
                      uint64_t columns) {
    char name[32];
    snprintf(name, sizeof name, "%s%llu", what, (unsigned long long)layer);
    const uint64_t shape[] = {rows, columns};
    return b->parameter[b->parameters++] = eg_parameter(b->g, name, rank, shape);
}

static eg_node dense(building *b, uint64_t layer, eg_node x) {
    eg_node z = eg_matmul(b->g, x, weight(b, "w", layer, 2, b->n->width, b->n->width));
    z = eg_add(b->g, z, weight(b, "b", layer, 1, b->n->width, 0));
    return eg_dropout(b->g, eg_tanh(b->g, z), b->n->dropout);
}

static eg_node block(building *b, uint64_t layer, eg_node x) {
    eg_graph *g = b->g;
    const uint64_t n = b->n->width;
    const eg_attention_options attention = {.heads = 2, .causal = 1, .dropout = b->n->dropout};
    const eg_node none = {0};
    eg_node all = eg_matmul(g, eg_layer_norm(g, x, 1e-5), weight(b, "qkv", layer, 2, n, 3 * n));
    eg_node q = eg_slice(g, all, 2, 0, n), k = eg_slice(g, all, 2, n, n);
    eg_node seen = eg_attention(g, &attention, q, k, eg_slice(g, all, 2, 2 * n, n), none, none);
    seen = eg_matmul(g, seen, weight(b, "out", layer, 2, n, n));
    x = eg_add(g, x, eg_dropout(g, seen, b->n->dropout));
    eg_node inner = eg_mul(g, eg_layer_norm(g, x, 1e-5), weight(b, "scale", layer, 1, n, 0));
    inner = eg_gelu(g, eg_matmul(g, inner, weight(b, "up", layer, 2, n, 4 * n)));
    return eg_add(g, x, eg_matmul(g, inner, weight(b, "down", layer, 2, 4 * n, n)));
}

/* Outputs: the loss, then the gradient of every parameter. With `every`, the output of every so many
 * layers is kept, but not that of the last. */
static size_t build(eg_graph *g, const network *n, uint64_t every, eg_output *outputs) {
    static char names[MOST][24];
    building b = {.g = g, .n = n};
    const uint64_t shape[] = {n->batch, n->length, n->width};
    eg_node x = eg_input(g, "x", EG_F32, 3, shape), keep[MOST], d[MOST];
    eg_gradient_options options = {.keep = keep};
    if (!n->is_transformer) x = eg_reshape(g, x, 2, (uint64_t[]){n->batch * n->length, n->width});
    for (uint64_t i = 0; i < n->layers; i++) {
        x = n->is_transformer ? block(&b, i, x) : dense(&b, i, x);
        if (every && (i + 1) % every == 0 && i + 1 < n->layers) keep[options.keep_count++] = x;
    }
    eg_node loss = eg_mean(g, eg_mul(g, x, eg_sin(g, x)), EG_ALL_AXES, 0);
    eg_error error = {0};
    CHECK_OK(eg_gradient_with(g, &options, loss, b.parameters, b.parameter, d, &error), error);
    outputs[0] = (eg_output){"loss", loss};
    for (size_t i = 0; i < b.parameters; i++) {
        snprintf(names[i], sizeof names[i], "d%zu", i);
        outputs[1 + i] = (eg_output){names[i], d[i]};
    }
    return 1 + b.parameters;
}

static model_run start(const network *n, uint64_t every, unsigned threads, const char *passes) {
    eg_context *context;
    eg_graph *g;
    eg_error error;
    eg_output outputs[MOST];
    const eg_context_options options = {.threads = threads};
    const eg_compile_options compile = {.training = 1, .passes = passes};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = build(g, n, every, outputs);
    model_run m = model_start(context, g, count, outputs, &compile);
    CHECK_OK(eg_run(m.instance, &(eg_run_options){.seed = 5}, &error), error);
    eg_graph_destroy(g);
    return m;
}

static void check_equal(model_run *a, model_run *b, const char *name) {
    const char *output;
    for (size_t k = 0; (output = eg_program_leaf(a->program, EG_LEAF_OUTPUT, k, NULL)); k++) {
        eg_tensor x = model_output(a, output), y = model_output(b, output);
        CHECK(tensor_distance(&x, &y) <= 2e-6 * tensor_size(&y), "%s: '%s' is off by %g of %g",
              name, output, tensor_distance(&x, &y), tensor_size(&y));
        CHECK(k == 0 || tensor_size(&y) > 0, "%s: '%s' is zero", name, output);
    }
}

static unsigned products(const eg_program *program) {
    eg_program_info info = {.size = sizeof info};
    unsigned count = 0;
    eg_program_info_get(program, &info);
    for (size_t i = 0; i < info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK(eg_program_step(program, i, &step, NULL) == EG_OK, "no step %zu", i);
        count += strncmp(step.kernel, "gemm", 4) == 0;
    }
    return count;
}

/* Of eight layers the third and the sixth are kept, after their dropout: what leads there, three products
 * each, is computed again. */
TEST(recompute, mlp) {
    for (int drops = 0; drops < 2; drops++) {
        const network n = {"mlp", 8, 16, 16, 64, drops ? 0.25 : 0, false};
        model_run full = start(&n, 0, 1, NULL), less = start(&n, 3, 1, NULL);
        eg_program_info a = {.size = sizeof a}, b = {.size = sizeof b};
        eg_program_info_get(full.program, &a);
        eg_program_info_get(less.program, &b);
        check_equal(&less, &full, n.name);
        CHECK(products(less.program) == products(full.program) + 6, "%u products, %u without",
              products(less.program), products(full.program));
        CHECK(10 * b.arena_bytes < 6 * a.arena_bytes, "%llu bytes with checkpoints, %llu without",
              (unsigned long long)b.arena_bytes, (unsigned long long)a.arena_bytes);
        model_close(&full);
        model_close(&less);
    }
}

/* A layer keeps some fourteen values of its width, a checkpoint is one of them. */
TEST(recompute, transformer) {
    for (int drops = 0; drops < 2; drops++)
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            const network n = {"transformer", 6, 2, 24, 32, drops ? 0.1 : 0, true};
            model_run full = start(&n, 0, threads, NULL), less = start(&n, 1, threads, NULL);
            eg_program_info a = {.size = sizeof a}, b = {.size = sizeof b};
            eg_program_info_get(full.program, &a);
            eg_program_info_get(less.program, &b);
            check_equal(&less, &full, n.name);
            CHECK(b.arena_bytes < a.arena_bytes / 3, "%llu bytes with checkpoints, %llu without",
                  (unsigned long long)b.arena_bytes, (unsigned long long)a.arena_bytes);
            model_close(&full);
            model_close(&less);
        }
}

/* Layers more make the arena larger by what is kept of them, and by nothing that is computed again. */
TEST(recompute, a_layer_more) {
    network n = {"transformer", 6, 2, 24, 32, 0, true};
    const uint64_t layer_bytes = n.batch * n.length * n.width * sizeof(float);
    model_run few = start(&n, 1, 1, NULL);
    n.layers = 9;
    model_run many = start(&n, 1, 1, NULL);
    eg_program_info a = {.size = sizeof a}, b = {.size = sizeof b};
    eg_program_info_get(few.program, &a);
    eg_program_info_get(many.program, &b);
    CHECK(b.arena_bytes <= a.arena_bytes + 4 * layer_bytes, "%llu bytes of 9 layers, %llu of 6",
          (unsigned long long)b.arena_bytes, (unsigned long long)a.arena_bytes);
    model_close(&few);
    model_close(&many);
}

/* Compiled with each pass off against the definition; and of the definition the very same gradients. */
static void check_passes(const network *n) {
    eg_context *context;
    eg_graph *g;
    eg_error error;
    eg_output outputs[MOST];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = build(g, n, 1, outputs);
    const char *pass;
    for (size_t i = 0; (pass = eg_pass_name(i)); i++) {
        char passes[64];
        snprintf(passes, sizeof passes, "all,-%s", pass);
        const compiled_case c = {n->name, passes, 1, -1, 1};
        compiled_check(context, g, count, outputs, &c);
    }
    compiled_check(context, g, count, outputs, &(compiled_case){n->name, "none", 1, -1, 1});
    compiled_check(context, g, count, outputs, &(compiled_case){n->name, NULL, 0, -1, 1});
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
TEST(recompute, passes) {
    check_passes(&(network){"mlp", 4, 3, 2, 5, 0.25, false});
    check_passes(&(network){"transformer", 3, 2, 5, 8, 0.25, true});
}

/* In double, both ways, bit for bit: dropout drops the same elements again. */
TEST(recompute, same_in_double) {
    enum { ELEMENTS = 1024 };
    const network n = {"transformer", 3, 2, 4, 8, 0.25, true};
    double *results[2][MOST], *data[MOST];
    size_t counts[2], bindings = 0;
    eg__memory *memory;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    for (int checkpoints = 0; checkpoints < 2; checkpoints++) {
        eg_graph *g;
        eg_output outputs[MOST];
        eg_node nodes[MOST];
        eg__binding bound[MOST];
        uint64_t state = 3;
        CHECK_OK(eg__graph_new(memory, &g, &error), error);
        counts[checkpoints] = build(g, &n, (uint64_t)checkpoints, outputs);
        bindings = 0;
        for (uint32_t i = 1; i <= g->size; i++) {
            if (g->nodes[i].op != EG__GRAPH_input && g->nodes[i].op != EG__GRAPH_parameter)
                continue;
            data[bindings] = test_alloc(ELEMENTS * sizeof(double));
            for (uint64_t k = 0; k < ELEMENTS; k++) data[bindings][k] = test_random(&state);
            bound[bindings] = (eg__binding){{i}, data[bindings]};
            bindings++;
        }
        for (size_t i = 0; i < counts[checkpoints]; i++) {
            nodes[i] = outputs[i].node;
            results[checkpoints][i] = calloc(ELEMENTS, sizeof(double));
        }
        CHECK_OK(eg__graph_evaluate(g, bindings, bound, counts[checkpoints], nodes,
                                    results[checkpoints], true, 9, &error),
                 error);
        for (size_t i = 0; i < bindings; i++) free(data[i]);
        eg_graph_destroy(g);
    }
    CHECK(counts[0] == counts[1], "%zu outputs, and %zu", counts[0], counts[1]);
    for (size_t i = 0; i < counts[0]; i++) {
        CHECK(memcmp(results[0][i], results[1][i], ELEMENTS * sizeof(double)) == 0,
              "output %zu differs", i);
        free(results[0][i]);
        free(results[1][i]);
    }
    eg__memory_destroy(memory);
}

/* The product is ready first, and would run first, did it not wait for the chain. */
TEST(recompute, waits) {
    for (int waits = 0; waits < 2; waits++) {
        eg_context *context;
        eg_graph *g;
        eg_program *program;
        eg_error error;
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4, 4});
        eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){4, 4}), late = eg_exp(g, x);
        eg_node product = eg_matmul(g, waits ? eg__barrier(g, x, late) : x, w);
        const eg_output outputs[] = {{"chain", eg_sin(g, late)}, {"product", product}};
        CHECK_OK(eg_compile(context, g, 2, outputs, NULL, &program, &error), error);
        CHECK_OK(eg_program_step(program, 0, &step, &error), error);
        CHECK(strcmp(step.kernel, waits ? "fused" : "gemm") == 0, "'%s' first, waits %d",
              step.kernel, waits);
        eg_program_release(program);
        eg_graph_destroy(g);
        eg_context_destroy(context);
    }
}

/* What stands between is copied without a call per node. */
TEST(recompute, long_segment) {
    eg__memory *memory;
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node x = eg_parameter(g, "x", 1, (uint64_t[]){2}),
            start = eg_input(g, "y", EG_F32, 1, (uint64_t[]){2});
    eg_node y = eg_mul(g, x, start), d;
    for (int i = 0; i < 30000; i++) y = eg_sin(g, y);
    const eg_gradient_options options = {.keep_count = 1, .keep = &y};
    eg_node loss = eg_sum(g, y, EG_ALL_AXES, 0);
    const uint32_t forward = g->size;
    CHECK_OK(eg_gradient_with(g, &options, loss, 1, &x, &d, &error), error);
    CHECK(g->size > 3 * forward, "%u nodes became %u", forward, g->size);
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

TEST(recompute, mistakes) {
    eg__memory *memory;
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    CHECK_OK(eg__graph_new(memory, &g, &error), error);
    eg_node x = eg_parameter(g, "x", 1, (uint64_t[]){2}), d;
    eg_node scan = eg_scan(g, 3, 0), h = eg_scan_carry(g, scan, x);
    eg_scan_update(g, h, eg_tanh(g, h));
    eg_node loss = eg_sum(g, eg_scan_last(g, h), EG_ALL_AXES, 0);
    const eg_node wrong[] = {{0}, {1000}, scan, h};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const eg_gradient_options options = {.keep_count = 1, .keep = &wrong[i]};
        char text[64];
        snprintf(text, sizeof text, "node %u to keep", wrong[i].id);
        CHECK_FAILS(eg_gradient_with(g, &options, loss, 1, &x, &d, &error), error, EG_ERR_ARGUMENT,
                    text);
    }
    CHECK_FAILS(
        eg_gradient_with(g, &(eg_gradient_options){.keep_count = 2}, loss, 1, &x, &d, &error),
        error, EG_ERR_ARGUMENT, "no list of nodes");
    /* nothing but what is there anyway: nothing changes */
    const uint32_t size = g->size;
    const eg_gradient_options leaves = {.keep_count = 1, .keep = &x};
    CHECK_OK(eg_gradient_with(g, &leaves, loss, 1, &x, &d, &error), error);
    for (uint32_t i = size + 1; i <= g->size; i++)
        CHECK(g->nodes[i].op != EG__GRAPH_barrier, "node %u is again", i);
    const eg_quantization quantization = {.type = EG_I8};
    const uint64_t shape[] = {2, 2};
    eg__barrier(g, eg__quantized_leaf(g, EG__GRAPH_parameter, "bytes", &quantization, 2, shape), x);
    CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, "'i8'");
    eg_graph_destroy(g);
    eg__memory_destroy(memory);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    eg_graph *g;
    eg_status status = eg_graph_create(context, &g, error);
    if (status) return status;
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){2, 3}), d;
    eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){3, 3});
    eg_node keep = eg_tanh(g, eg_matmul(g, eg_tanh(g, eg_matmul(g, x, w)), w));
    eg_node loss = eg_sum(g, eg_matmul(g, keep, w), EG_ALL_AXES, 0);
    const eg_gradient_options options = {.keep_count = 1, .keep = &keep};
    status = eg_graph_check(g, error);
    if (!status) status = eg_gradient_with(g, &options, loss, 1, &w, &d, error);
    eg_graph_destroy(g);
    return status;
}
TEST(recompute, every_allocation_may_fail) {
    CHECK(test_every_allocation_within(attempt, NULL) > 5, "too few allocations");
}
