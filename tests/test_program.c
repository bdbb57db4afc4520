/* Programs, weights and instances: what a run promises. */
#include "test.h"
#include "test_models.h"

#include <math.h>
#include <pthread.h>

AREA(program, "no memory in a run, the same bits on 1..4 threads, lengths, refusals")

static const model_case models[] = {
    {"mlp", 1, 37, 24, 40, .gradient = true},
    {"gru", 9, 37, 12, 20, .gradient = true},
    {"gru", 9, 6, 12, 20, .reverse = true, .gradient = true},
    {"cfc", 9, 37, 12, 20, .gradient = true},
    {"cfc", 9, 1, 12, 20, .gradient = false},
    {"cfc", 11, 16, 12, 20, .gradient = true, .options = {.every = 4}, .dropout = true},
};
enum { MODELS = sizeof models / sizeof *models };

static size_t program_steps(const eg_program *program) {
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    return info.steps;
}

static void check_same_bits(model_run *a, model_run *b, const char *what) {
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(a->program, EG_LEAF_OUTPUT, i, NULL)); i++) {
        eg_tensor x = model_output(a, name), y = model_output(b, name);
        uint64_t bytes;
        eg_tensor_measure(&x, NULL, &bytes, NULL);
        CHECK(memcmp(x.data, y.data, (size_t)bytes) == 0, "%s: output '%s' differs by %g", what,
              name, tensor_distance(&x, &y));
    }
}

TEST(program, same_bits_on_any_threads) {
    eg_error error;
    eg_run_options options = {.seed = 3};
    for (size_t i = 0; i < MODELS; i++) {
        model_case large = models[i];
        large.units *= 4;                      /* enough work for several threads */
        if (large.batch > 1) large.batch = 71; /* and for sums in slices */
        model_run one = model_open(&large, 1, NULL);
        CHECK_OK(eg_run(one.instance, &options, &error), error);
        for (unsigned threads = test_quick() ? 4 : 2; threads <= 4; threads++) {
            model_run more = model_open(&large, threads, NULL);
            CHECK_OK(eg_run(more.instance, &options, &error), error);
            check_same_bits(&one, &more, large.name);
            model_close(&more);
        }
        model_close(&one);
    }
}

/* What depends on parameters alone is done when they change, not in a run; what reads a state is. */
TEST(program, settled_once) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_error error = {0};
    const uint64_t square[] = {8, 8}, row[] = {1, 8};
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, row), w = eg_parameter(g, "w", 2, square);
    const eg_node mask = eg_parameter(g, "mask", 2, square);
    const eg_node state = eg_state(g, "s", 2, row);
    const eg_node masked = eg_exp(g, eg_mul(g, w, mask));
    const eg_output outputs[] = {{"y", eg_matmul(g, x, masked)}, {"z", eg_exp(g, state)}};
    CHECK_OK(eg_compile(context, g, 2, outputs, NULL, &program, &error), error);
    eg_program_info info = {.size = sizeof info};
    if (program) eg_program_info_get(program, &info);
    CHECK(info.prologue_steps >= 1, "nothing is done when parameters change");
    size_t products = 0, chains = 0;
    for (size_t i = 0; i < info.run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_program_step(program, i, &step, &error), error);
        products += strcmp(step.kernel, "gemm") == 0;
        chains += strcmp(step.kernel, "fused") == 0;
    }
    CHECK(products == 1 && chains == 1, "a run has %zu products and %zu chains", products, chains);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Every pass may be off, and nothing but rounding changes. */
TEST(program, passes_change_nothing) {
    eg_error error;
    eg_run_options options = {.seed = 3};
    for (size_t i = 0; i < MODELS; i++) {
        model_run all = model_open(&models[i], 2, NULL), none = model_open(&models[i], 1, "none");
        CHECK_OK(eg_run(all.instance, &options, &error), error);
        CHECK_OK(eg_run(none.instance, &options, &error), error);
        const char *name;
        for (size_t k = 0; (name = eg_program_leaf(all.program, EG_LEAF_OUTPUT, k, NULL)); k++) {
            eg_tensor x = model_output(&all, name), y = model_output(&none, name);
            const double size = tensor_size(&y), off = tensor_distance(&x, &y);
            CHECK(off <= 2e-5 * (1 + size), "%s %zu: '%s' is off by %g of %g", models[i].name, i,
                  name, off, size);
        }
        eg_program_info info = {.size = sizeof info};
        eg_program_info_get(all.program, &info);
        CHECK(info.arena_bytes <= 1.15 * (double)info.arena_bound_bytes,
              "%s: an arena of %llu bytes where %llu are needed", models[i].name,
              (unsigned long long)info.arena_bytes, (unsigned long long)info.arena_bound_bytes);
        model_close(&all);
        model_close(&none);
    }
}

/* ---- memory */
TEST(program, run_takes_no_memory) {
    eg__failing_allocator failing = {.fail_at = 0};
    eg_context_options options = {.allocator = eg__failing_allocator_use(&failing), .threads = 2};
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_output outputs[MODEL_OUTPUTS];
    const size_t count = model_build(g, &models[3], outputs);
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    CHECK_OK(eg_compile(context, g, count, outputs, NULL, &program, &error), error);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    eg_tensor tensor;
    static float zeros[1 << 16];
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(program, EG_LEAF_INPUT, i, &tensor)); i++) {
        tensor.data = zeros;
        CHECK_OK(eg_instance_bind(instance, name, &tensor, &error), error);
    }
    for (size_t i = 0; i < count; i++)
        CHECK_OK(eg_instance_output(instance, outputs[i].name, &tensor, &error), error);
    const int64_t before = failing.requests;
    failing.fail_at = before + 1;
    CHECK_OK(eg_run(instance, NULL, &error), error);
    CHECK_OK(eg_run(instance, &(eg_run_options){.length = 5}, &error), error);
    CHECK(failing.requests == before, "%lld requests in a run",
          (long long)(failing.requests - before));
    failing.fail_at = 0;
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    CHECK(failing.live == 0, "%lld blocks are left", (long long)failing.live);
}

static eg_status attempt_all(void *user, const eg_allocator *allocator, eg_error *error) {
    const model_case *c = user;
    eg_context_options options = {.allocator = *allocator, .threads = 1, .memory_cache_off = 1};
    eg_context *context;
    eg_status status = eg_context_create(&options, &context, error);
    if (status) return status;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_weights *weights = NULL;
    eg_instance *instance = NULL;
    eg_node x, w, scan, h;
    eg_tensor tensor;
    (void)c;
    status = eg_graph_create(context, &g, error);
    if (!status) {
        x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){3, 4, 2});
        w = eg_parameter(g, "w", 2, (uint64_t[]){5, 3});
        scan = eg_scan(g, 3, 0);
        h = eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0), 2, (uint64_t[]){4, 3}));
        eg_node both[] = {eg_scan_step(g, scan, x), h};
        eg_node next = eg_tanh(g, eg_matmul(g, eg_concat(g, 1, 2, both), w));
        eg_scan_update(g, h, next);
        eg_node loss = eg_sum(g, eg_scan_stack(g, scan, next), EG_ALL_AXES, 0), d;
        status = eg_gradient(g, loss, 1, &w, &d, error);
        eg_output outputs[] = {{"loss", loss}, {"d", d}};
        if (!status) status = eg_compile(context, g, 2, outputs, NULL, &program, error);
    }
    if (!status) status = eg_weights_create(program, &weights, error);
    if (!status) status = eg_instance_create(program, weights, &instance, error);
    if (!status) status = eg_instance_output(instance, "loss", &tensor, error);
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return status;
}

TEST(program, every_allocation_may_fail) {
    int failed = test_every_allocation(attempt_all, (void *)&models[0]);
    CHECK(failed > 100, "only %d allocations", failed);
}

TEST(program, budget) {
    eg_context *context;
    eg_error error;
    eg_context_options options = {.threads = 1, .memory_budget = 4 << 20};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4096, 1024});
    eg_output output = {"y", eg_sum(g, eg_softmax(g, eg_tanh(g, x)), 3, 0)};
    eg_program *program;
    eg_instance *instance;
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_FAILS(eg_instance_create(program, NULL, &instance, &error), error, EG_ERR_BUDGET,
                "budget");
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- refusals */
TEST(program, bad_input) {
    model_run m = model_open(&models[1], 1, NULL);
    eg_error error;
    eg_instance *instance;
    eg_tensor tensor = model_input(&m, "x"), wrong = tensor;
    CHECK_OK(eg_instance_create(m.program, m.weights, &instance, &error), error);
    CHECK_FAILS(eg_run(instance, NULL, &error), error, EG_ERR_ARGUMENT, "input 'x' has no memory");
    CHECK_FAILS(eg_instance_bind(instance, "z", &tensor, &error), error, EG_ERR_NOT_FOUND, "'z'");
    wrong.shape[2]++;
    CHECK_FAILS(eg_instance_bind(instance, "x", &wrong, &error), error, EG_ERR_ARGUMENT,
                "'x' has shape [9, 37, 12], got [9, 37, 13]");
    wrong = tensor;
    wrong.type = EG_I32;
    CHECK_FAILS(eg_instance_bind(instance, "x", &wrong, &error), error, EG_ERR_ARGUMENT, "i32");
    CHECK_FAILS(eg_instance_output(instance, "z", &wrong, &error), error, EG_ERR_NOT_FOUND, "'z'");
    CHECK_FAILS(eg_instance_state(instance, "z", &wrong, &error), error, EG_ERR_NOT_FOUND, "'z'");
    CHECK_FAILS(eg_weights_tensor(m.weights, "z", &wrong, &error), error, EG_ERR_NOT_FOUND, "'z'");
    CHECK_FAILS(eg_weights_set(m.weights, "xz.bias", &tensor, &error), error, EG_ERR_ARGUMENT,
                "xz.bias");
    CHECK_FAILS(eg_instance_create(m.program, NULL, &(eg_instance *){0}, &error), error,
                EG_ERR_ARGUMENT, "needs weights");
    CHECK_FAILS(eg_run(m.instance, &(eg_run_options){.length = 10}, &error), error, EG_ERR_ARGUMENT,
                "10 steps");
    wrong = tensor;
    wrong.shape[0] = 4;
    CHECK_OK(eg_instance_bind(m.instance, "x", &wrong, &error), error);
    CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_ARGUMENT,
                "a run of 9 steps does not fit the bound tensors, which have 4");
    CHECK_OK(eg_run(m.instance, &(eg_run_options){.length = 4}, &error), error);
    eg_instance_destroy(instance);
    model_run other = model_open(&models[3], 1, NULL);
    CHECK_FAILS(eg_instance_create(m.program, other.weights, &instance, &error), error,
                EG_ERR_ARGUMENT, "");
    model_close(&other);
    model_close(&m);
}

TEST(program, bad_compile) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 1, (uint64_t[]){4});
    eg_node scan = eg_scan(g, 4, 0), h = eg_scan_carry(g, scan, x), inside = eg_tanh(g, h);
    eg_output twice[] = {{"y", x}, {"y", x}};
    eg_program *program;
    CHECK_FAILS(eg_compile(context, g, 2, twice, NULL, &program, &error), error, EG_ERR_ARGUMENT,
                "two outputs are called 'y'");
    CHECK_FAILS(eg_compile(context, g, 1, &(eg_output){"y", inside}, NULL, &program, &error), error,
                EG_ERR_ARGUMENT, "output 'y' is not a value outside of scans");
    CHECK_FAILS(
        eg_compile(context, g, 1, &(eg_output){"y", eg_scan_last(g, h)}, NULL, &program, &error),
        error, EG_ERR_ARGUMENT, "has no update");
    CHECK_FAILS(eg_compile(context, g, 1, twice, &(eg_compile_options){.passes = "fold,fuze"},
                           &program, &error),
                error, EG_ERR_ARGUMENT, "unknown pass 'fuze'");
    CHECK_FAILS(eg_compile(context, g, 1, twice, &(eg_compile_options){.products = EG_I8}, &program,
                           &error),
                error, EG_ERR_UNSUPPORTED,
                "products cannot be rounded to 'i8', only to f16 and bf16");
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- lengths */
static const float *row_of(const eg_tensor *tensor, uint64_t row) {
    uint64_t size = 1;
    for (unsigned i = 1; i < tensor->rank; i++) size *= tensor->shape[i];
    return (const float *)tensor->data + row * size;
}

TEST(program, shorter_runs) {
    eg_error error;
    for (size_t i = 1; i < 4; i++)
        for (uint64_t length = 1; length < 9; length += 3) {
            model_case c = models[i];
            model_run m = model_open(&c, 2, NULL);
            CHECK_OK(eg_run(m.instance, &(eg_run_options){.length = length}, &error), error);
            c.time = length;
            model_run n = model_open(&c, 2, NULL);
            CHECK_OK(eg_run(n.instance, NULL, &error), error);
            const char *name;
            for (size_t k = 0; (name = eg_program_leaf(n.program, EG_LEAF_OUTPUT, k, NULL)); k++) {
                eg_tensor x = model_output(&m, name), y = model_output(&n, name);
                CHECK(tensor_distance(&y, &x) <= 1e-4, "%s, %llu steps: '%s' is off by %g", c.name,
                      (unsigned long long)length, name, tensor_distance(&y, &x));
            }
            model_close(&m);
            model_close(&n);
        }
}

/* A sample that ends early is what it is alone. */
TEST(program, lengths_of_samples) {
    eg_error error;
    for (int reverse = 0; reverse <= 1; reverse++) {
        model_case c = {"gru", 7, 5, 6, 10, .reverse = reverse, .lengths = true};
        model_run m = model_open(&c, 1, NULL);
        CHECK_OK(eg_run(m.instance, NULL, &error), error);
        eg_tensor xs = model_input(&m, "x"), h0 = model_input(&m, "h0");
        eg_tensor lengths = model_input(&m, "lengths"), all = model_output(&m, "last");
        for (uint64_t sample = 0; sample < c.batch; sample++) {
            const uint64_t length = (uint64_t)((const float *)lengths.data)[sample];
            model_case alone = {"gru", length, 1, 6, 10, .reverse = reverse};
            model_run one = model_open(&alone, 1, NULL);
            eg_tensor x = model_input(&one, "x"), h = model_input(&one, "h0");
            for (uint64_t t = 0; t < length; t++)
                memcpy((float *)x.data + t * 6, row_of(&xs, t) + sample * 6, 6 * sizeof(float));
            memcpy(h.data, row_of(&h0, sample), 10 * sizeof(float));
            CHECK_OK(eg_run(one.instance, NULL, &error), error);
            eg_tensor last = model_output(&one, "last");
            eg_tensor mine = {EG_F32, 2, {1, 10}, (void *)row_of(&all, sample)};
            CHECK(tensor_distance(&last, &mine) < 2e-6, "sample %llu of %llu steps is off by %g",
                  (unsigned long long)sample, (unsigned long long)length,
                  tensor_distance(&last, &mine));
            model_close(&one);
        }
        model_close(&m);
    }
}

TEST(program, fixed_length) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4, 3});
    eg_node scan = eg_scan(g, 4, 0);
    eg_node y = eg_scan_stack(g, scan, eg_tanh(g, eg_scan_step(g, scan, x)));
    eg_output output = {"y", eg_softmax(g, eg_transpose(g, y, (unsigned[]){1, 0}))};
    eg_program *program;
    eg_instance *instance;
    float memory[12] = {0};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    CHECK_OK(eg_instance_bind(instance, "x", &(eg_tensor){EG_F32, 2, {4, 3}, memory}, &error),
             error);
    CHECK_OK(eg_instance_bind(instance, "y", &(eg_tensor){EG_F32, 2, {3, 4}, memory}, &error),
             error);
    CHECK_FAILS(eg_run(instance, &(eg_run_options){.length = 2}, &error), error, EG_ERR_UNSUPPORTED,
                "softmax mixes time steps");
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- streams: a state that is a carry between runs */
TEST(program, stream_equals_scan) {
    enum { T = 6, N = 5 };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_program *programs[2];
    for (int stream = 0; stream < 2; stream++) {
        eg_graph *g;
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const uint64_t time = stream ? 1 : T;
        eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){time, 1, N});
        eg_node w = eg_parameter(g, "w", 2, (uint64_t[]){N, N});
        eg_node h = eg_state(g, "h", 2, (uint64_t[]){1, N}), scan = eg_scan(g, time, 0);
        eg_node carry = eg_scan_carry(g, scan, h);
        eg_node next = eg_tanh(g, eg_add(g, eg_scan_step(g, scan, x), eg_matmul(g, carry, w)));
        eg_scan_update(g, carry, next);
        eg_output output = {"y", eg_update(g, h, eg_scan_last(g, carry))};
        CHECK_OK(eg_compile(context, g, 1, &output, NULL, &programs[stream], &error), error);
        eg_graph_destroy(g);
    }
    eg_weights *weights;
    CHECK_OK(eg_weights_create(programs[0], &weights, &error), error);
    model_weights_fill(weights, programs[0]);
    float xs[T][N], results[2][N];
    uint64_t state = 5;
    for (int t = 0; t < T; t++)
        for (int i = 0; i < N; i++) xs[t][i] = test_random(&state);
    for (int stream = 0; stream < 2; stream++) {
        eg_instance *instance;
        CHECK_OK(eg_instance_create(programs[stream], weights, &instance, &error), error);
        eg_tensor y = {EG_F32, 2, {1, N}, results[stream]};
        CHECK_OK(eg_instance_bind(instance, "y", &y, &error), error);
        for (int turn = 0; turn < 2; turn++) {
            eg_instance_reset(instance);
            for (int t = 0; t < (stream ? T : 1); t++) {
                eg_tensor x = {EG_F32, 3, {stream ? 1 : T, 1, N}, xs[t]};
                CHECK_OK(eg_instance_bind(instance, "x", &x, &error), error);
                CHECK_OK(eg_run(instance, NULL, &error), error);
            }
        }
        eg_instance_destroy(instance);
    }
    CHECK(memcmp(results[0], results[1], sizeof results[0]) == 0, "a stream is not its scan");
    eg_weights_destroy(weights);
    eg_program_release(programs[0]);
    eg_program_release(programs[1]);
    eg_context_destroy(context);
}

/* ---- a state of which only the first rows are valid: it grows at run time, without compiling again */
TEST(program, state_that_grows) {
    enum { MOST = 8, N = 3 };
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node row = eg_input(g, "row", EG_F32, 2, (uint64_t[]){1, N});
    eg_node valid = eg_input(g, "valid", EG_I32, 0, NULL);
    eg_node before = eg_input(g, "before", EG_F32, 0, NULL); /* the same, as a number */
    eg_node cache = eg_state(g, "cache", 2, (uint64_t[]){MOST, N});
    eg_node all = eg_update(g, cache, eg_slice_update(g, cache, valid, row));
    /* the mean of the valid rows */
    float numbers[MOST];
    for (int i = 0; i < MOST; i++) numbers[i] = (float)i;
    eg_node index = eg_constant(g, &(eg_tensor){EG_F32, 2, {MOST, 1}, numbers});
    eg_node weight = eg_div(g, eg_le(g, index, before), eg_add(g, before, eg_scalar(g, 1)));
    eg_output output = {"mean", eg_sum(g, eg_mul(g, all, weight), 1, 0)};
    eg_program *program;
    eg_instance *instance;
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    for (size_t i = 0; i < program_steps(program); i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_program_step(program, i, &step, &error), error);
        CHECK(strcmp(step.kernel, "copy") != 0, "the state is copied");
    }
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    float x[N], mean[N], count, sum[N] = {0};
    int32_t at;
    CHECK_OK(eg_instance_bind(instance, "row", &(eg_tensor){EG_F32, 2, {1, N}, x}, &error), error);
    CHECK_OK(eg_instance_bind(instance, "valid", &(eg_tensor){EG_I32, 0, {0}, &at}, &error), error);
    CHECK_OK(eg_instance_bind(instance, "before", &(eg_tensor){EG_F32, 0, {0}, &count}, &error),
             error);
    CHECK_OK(eg_instance_bind(instance, "mean", &(eg_tensor){EG_F32, 1, {N}, mean}, &error), error);
    uint64_t state = 9;
    for (at = 0; at < MOST; at++) {
        count = (float)at;
        for (int i = 0; i < N; i++) sum[i] += x[i] = test_random(&state);
        CHECK_OK(eg_run(instance, NULL, &error), error);
        for (int i = 0; i < N; i++)
            CHECK(fabsf(mean[i] - sum[i] / (float)(at + 1)) < 1e-6f, "after %d rows: %g, not %g",
                  at + 1, (double)mean[i], (double)(sum[i] / (float)(at + 1)));
    }
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- inputs that a run writes to: descent in place, whatever the passes do */
TEST(program, inputs_in_place) {
    enum { N = 9001 };
    static const char *const passes[] = {NULL, "none", "all,-fuse", "all,-in_place"};
    static float a[N], b[N], c[N], sum[N], old[N], want[N];
    eg_context *context;
    eg_graph *g;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 3}, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t n = N;
    const eg_node x = eg_input(g, "a", EG_F32, 1, &n), y = eg_input(g, "b", EG_F32, 1, &n);
    const eg_node z = eg_input(g, "c", EG_F32, 1, &n);
    const eg_node next = eg_update(g, x, eg_add(g, eg_mul(g, x, z), z));
    eg_update(g, y, x); /* what a was */
    const eg_output outputs[] = {{"sum", eg_add(g, next, y)}, {"old", eg_neg(g, x)}};
    for (size_t k = 0; k < sizeof passes / sizeof *passes; k++) {
        eg_program *program;
        eg_instance *instance;
        const eg_compile_options options = {.passes = passes[k]};
        CHECK_OK(eg_compile(context, g, 2, outputs, &options, &program, &error), error);
        CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
        float *const memory[] = {a, b, c, sum, old};
        static const char *const names[] = {"a", "b", "c", "sum", "old"};
        for (int i = 0; i < 5; i++) {
            const eg_tensor tensor = {EG_F32, 1, {N}, memory[i]};
            CHECK_OK(eg_instance_bind(instance, names[i], &tensor, &error), error);
        }
        for (int i = 0; i < N; i++) {
            a[i] = (float)(i % 7);
            b[i] = (float)i;
            c[i] = (float)(i % 3);
            want[i] = a[i] * c[i] + c[i];
        }
        CHECK_OK(eg_run(instance, NULL, &error), error);
        for (int i = 0; i < N; i++) {
            const float was = (float)(i % 7);
            CHECK(a[i] == want[i] && b[i] == was && c[i] == (float)(i % 3) &&
                      sum[i] == want[i] + (float)i && old[i] == -was,
                  "passes '%s': element %d: %g %g %g %g %g", passes[k] ? passes[k] : "all", i,
                  (double)a[i], (double)b[i], (double)c[i], (double)sum[i], (double)old[i]);
        }
        eg_instance_destroy(instance);
        eg_program_release(program);
    }
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* A chain that only its own result replaces is one step and takes no memory. */
TEST(program, updates_copy_nothing) {
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t n = 100000;
    const eg_node p = eg_input(g, "p", EG_F32, 1, &n), m = eg_input(g, "m", EG_F32, 1, &n);
    const eg_node d = eg_input(g, "d", EG_F32, 1, &n), rate = eg_input(g, "rate", EG_F32, 0, NULL);
    const eg_node mean = eg_add(g, eg_mul(g, m, rate), d);
    eg_update(g, m, mean);
    eg_update(g, p, eg_add(g, eg_mul(g, mean, rate), p));
    CHECK_OK(eg_compile(context, g, 0, NULL, NULL, &program, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    CHECK(info.steps == 1 && info.arena_bytes == 0, "%zu steps, an arena of %llu bytes", info.steps,
          (unsigned long long)info.arena_bytes);
    CHECK(info.bytes == 5 * 4 * 100000.0 + 4, "%g bytes", info.bytes); /* two are written */
    CHECK_FAILS(eg_export_c(program, NULL, "build", "a", NULL, &error), error, EG_ERR_UNSUPPORTED,
                "no C for the input 'p', which is written to");
    eg_update(g, p, mean);
    CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT,
                "input 'p' has an update already");
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Three products one after the other: each needs what it reads and what it writes, and no more. */
TEST(program, what_lives_at_each_step) {
    enum { ROWS = 8, A = 32, B = 16, C = 48 };
    static const uint64_t x_shape[] = {ROWS, A}, shapes[3][2] = {{A, B}, {B, C}, {C, A}};
    static const uint64_t want[] = {ROWS * B * 4, ROWS * (B + C) * 4, ROWS * C * 4};
    static const char *const names[] = {"a", "b", "c"};
    eg_error error;
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node y = eg_input(g, "x", EG_F32, 2, x_shape);
    for (int i = 0; i < 3; i++) y = eg_matmul(g, y, eg_parameter(g, names[i], 2, shapes[i]));
    const eg_output output = {"y", y};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    CHECK(info.run_steps == 3, "%zu steps", info.run_steps);
    for (size_t i = 0; i < 3; i++) {
        eg_step_info step = {.size = sizeof step};
        CHECK_OK(eg_program_step(program, i, &step, &error), error);
        CHECK(step.live_bytes == want[i], "step %zu: %llu bytes live, not %llu", i,
              (unsigned long long)step.live_bytes, (unsigned long long)want[i]);
    }
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- several threads */
typedef struct worker {
    model_run *shared;
    eg_tensor y;
    float *memory;
    int runs;
} worker;

static void *work(void *user) {
    worker *w = user;
    eg_instance *instance;
    eg_error error;
    CHECK_OK(eg_instance_create(w->shared->program, w->shared->weights, &instance, &error), error);
    for (size_t i = 0; i < w->shared->input_count; i++)
        CHECK_OK(eg_instance_bind(instance,
                                  eg_program_leaf(w->shared->program, EG_LEAF_INPUT, i, NULL),
                                  &w->shared->inputs[i], &error),
                 error);
    eg_tensor out;
    const char *name;
    for (size_t i = 0; (name = eg_program_leaf(w->shared->program, EG_LEAF_OUTPUT, i, NULL)); i++)
        CHECK_OK(eg_instance_output(instance, name, &out, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &w->y, &error), error);
    for (int i = 0; i < 20;) {
        eg_status status = eg_run(instance, NULL, &error);
        if (status == EG_OK) i++;
        else CHECK(status == EG_ERR_BUSY, "a run: %s", error.message);
    }
    eg_instance_destroy(instance);
    return NULL;
}

TEST(program, instances_in_threads) {
    enum { WORKERS = 3 };
    eg_error error;
    model_run m = model_open(&models[3], 2, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    eg_tensor y = model_output(&m, "y");
    uint64_t bytes;
    eg_tensor_measure(&y, NULL, &bytes, NULL);
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.shared = &m, .y = y, .memory = test_alloc((size_t)bytes)};
        workers[i].y.data = workers[i].memory;
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    /* the weights are written while others run: this waits for them, and they are refused */
    for (int i = 0; i < 5; i++) model_weights_fill(m.weights, m.program);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(memcmp(workers[i].memory, y.data, (size_t)bytes) == 0, "worker %d differs", i);
        free(workers[i].memory);
    }
    model_close(&m);
}

TEST(program, weights_that_change) {
    eg_error error;
    model_run m = model_open(&models[0], 1, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const float before = *(const float *)model_output(&m, "loss").data;
    CHECK_OK(eg_weights_begin(m.weights, 0, &error), error);
    CHECK_FAILS(eg_weights_begin(m.weights, 0, &error), error, EG_ERR_BUSY, "changed already");
    CHECK_FAILS(eg_run(m.instance, NULL, &error), error, EG_ERR_BUSY, "being changed");
    eg_tensor all = eg_weights_all(m.weights);
    for (uint64_t i = 0; i < all.shape[0]; i++) ((float *)all.data)[i] *= 0.5f;
    eg_weights_end(m.weights);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    CHECK(*(const float *)model_output(&m, "loss").data != before, "the loss stays %g",
          (double)before);
    model_weights_fill(m.weights, m.program);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    CHECK(*(const float *)model_output(&m, "loss").data == before, "the loss was %g",
          (double)before);
    model_close(&m);
}

/* ---- checkpoints: the same gradient from less memory */
TEST(program, checkpoints) {
    eg_error error;
    model_case c = {"cfc", 128, 4, 8, 32, .gradient = true, .dropout = true};
    eg_run_options options = {.seed = 11};
    model_run full = model_open(&c, 1, NULL);
    CHECK_OK(eg_run(full.instance, &options, &error), error);
    eg_program_info all = {.size = sizeof all}, less = {.size = sizeof less};
    eg_program_info_get(full.program, &all);
    for (int reverse = 0; reverse <= 1; reverse++)
        for (int by_memory = 0; by_memory <= 1; by_memory++) {
            c.reverse = reverse;
            c.options = (eg_gradient_options){0};
            model_run plain = model_open(&c, 1, NULL);
            CHECK_OK(eg_run(plain.instance, &options, &error), error);
            c.options = by_memory ? (eg_gradient_options){.memory = 150000}
                                  : (eg_gradient_options){.every = 12};
            model_run m = model_open(&c, 1, NULL);
            CHECK_OK(eg_run(m.instance, &options, &error), error);
            eg_program_info_get(m.program, &less);
            CHECK(less.arena_bytes < all.arena_bytes / 3,
                  "%llu bytes with checkpoints, %llu without", (unsigned long long)less.arena_bytes,
                  (unsigned long long)all.arena_bytes);
            const char *name;
            for (size_t k = 0; (name = eg_program_leaf(m.program, EG_LEAF_OUTPUT, k, NULL)); k++) {
                eg_tensor x = model_output(&m, name), y = model_output(&plain, name);
                CHECK(tensor_distance(&x, &y) <= 1e-5 * tensor_size(&y), "'%s' is off by %g of %g",
                      name, tensor_distance(&x, &y), tensor_size(&y));
            }
            model_close(&m);
            model_close(&plain);
        }
    model_close(&full);
}

TEST(program, checkpoints_that_do_not_fit) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_graph *g;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){4, 30}), d;
    eg_node scan = eg_scan(g, 100, 0), h = eg_scan_carry(g, scan, x);
    eg_scan_update(g, h, eg_tanh(g, h));
    eg_node loss = eg_sum(g, eg_scan_last(g, h), EG_ALL_AXES, 0);
    eg_gradient_options options = {.memory = 1000};
    CHECK_FAILS(eg_gradient_with(g, &options, loss, 1, &x, &d, &error), error, EG_ERR_BUDGET,
                "a scan of 100 steps cannot be checkpointed within 1000 bytes");
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* ---- sessions */
static eg_status build(void *user, eg_graph *graph, const uint64_t *dimensions, size_t count,
                       eg_output *outputs, size_t room, size_t *used, eg_error *error) {
    (void)user, (void)room;
    if (count != 1) return eg__fail(error, EG_ERR_ARGUMENT, "one dimension is needed");
    model_case c = {"mlp", 1, dimensions[0], 8, 16, .gradient = false};
    *used = model_build(graph, &c, outputs);
    return EG_OK;
}

TEST(program, session) {
    eg_context *context;
    eg_session *session;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_session_options options = {.programs = 2};
    CHECK_OK(eg_session_create(context, build, NULL, &options, &session, &error), error);
    eg_weights *weights;
    CHECK_FAILS(eg_session_weights(session, &weights, &error), error, EG_ERR_NOT_FOUND, "first");
    static const uint64_t batches[] = {1, 4, 1, 4, 9, 4, 1};
    float memory[9 * 8] = {0};
    eg_session_figures f;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        eg_instance *instance;
        eg_tensor x = {EG_F32, 2, {batches[i], 8}, memory}, y;
        CHECK_OK(eg_session_instance(session, &batches[i], 1, &instance, &error), error);
        CHECK_OK(eg_instance_bind(instance, "x", &x, &error), error);
        CHECK_OK(eg_instance_output(instance, "y", &y, &error), error);
        CHECK_OK(eg_instance_output(instance, "loss", &y, &error), error);
        CHECK_OK(eg_run(instance, NULL, &error), error);
    }
    eg_session_figures_get(session, &f);
    CHECK(f.hits == 3 && f.misses == 4 && f.evicted == 2 && f.programs == 2,
          "%llu hits, %llu misses, %llu evicted, %llu programs", (unsigned long long)f.hits,
          (unsigned long long)f.misses, (unsigned long long)f.evicted,
          (unsigned long long)f.programs);
    CHECK(f.compile_seconds > 0, "compiled in %g seconds", f.compile_seconds);
    CHECK_OK(eg_session_weights(session, &weights, &error), error);
    eg_program *program;
    CHECK_OK(eg_session_program(session, (uint64_t[]){4}, 1, &program, &error), error);
    eg_program_release(program);
    CHECK_FAILS(eg_session_program(session, batches, 2, &program, &error), error, EG_ERR_ARGUMENT,
                "one dimension");
    eg_session_destroy(session);
    eg_context_destroy(context);
}

static int stop_at_once(void *user) {
    ++*(int *)user;
    return 1;
}
static int never_stop(void *user) {
    ++*(int *)user;
    return 0;
}

/* Who stops a run is asked; a run that was stopped says so, and the next one is whole again. */
TEST(program, stopped) {
    for (unsigned threads = 1; threads <= 4; threads++) {
        model_run m = model_open(&models[1], threads, NULL),
                  whole = model_open(&models[1], 1, NULL);
        eg_error error;
        int asked = 0;
        eg_run_options options = {
            .size = sizeof options, .stop = stop_at_once, .stop_user = &asked};
        CHECK_FAILS(eg_run(m.instance, &options, &error), error, EG_ERR_STOPPED, "stopped");
        CHECK(asked == 1, "asked %d times", asked);
        options.stop = never_stop;
        CHECK_OK(eg_run(m.instance, &options, &error), error);
        CHECK(asked > 1, "nobody was asked");
        CHECK_OK(eg_run(whole.instance, NULL, &error), error);
        check_same_bits(&m, &whole, "after a stop");
        model_close(&whole);
        model_close(&m);
    }
}
