/* Sums over many rows, which are made in slices: what the definition says, and the same bits on any number of
 * threads. */
#include "test.h"
#include "test_compile.h"

#include "engine/program.h"

AREA(slices, "sums and turned products in slices: the definition, the same bits on 1..4 threads")

enum { ROWS = 1003, M = 29, N = 45 };

/* A weight gradient and those of biases, as training has them, the product with an epilogue. */
static size_t build(eg_graph *g, eg_output *out) {
    const eg_node a = eg_input(g, "a", EG_F32, 2, (uint64_t[]){ROWS, M});
    const eg_node b = eg_input(g, "b", EG_F32, 2, (uint64_t[]){ROWS, N});
    const eg_node d = eg_input(g, "d", EG_F32, 2, (uint64_t[]){M, N});
    const eg_node product = eg_matmul_transposed(g, a, 1, b, 0);
    out[0] = (eg_output){"w", eg_tanh(g, eg_mul(g, product, d))};
    out[1] = (eg_output){"sum", eg_sum(g, b, 1, 0)};
    out[2] = (eg_output){"mean", eg_mean(g, a, 1, 0)};
    return 3;
}

static size_t sliced(const eg_program *program) {
    size_t n = 0;
    for (size_t i = 0; i < program->step_count; i++) n += program->steps[i].slices > 0;
    return n;
}

static void run(unsigned threads, float *to) {
    eg_context *context;
    eg_error error;
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    eg_output out[3];
    const eg_context_options options = {.threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = build(g, out);
    CHECK_OK(eg_compile(context, g, count, out, NULL, &program, &error), error);
    CHECK(sliced(program) == 2, "%zu steps in slices, not the product and the sum",
          sliced(program));
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    uint64_t state = 5;
    eg_tensor x[] = {
        {EG_F32, 2, {ROWS, M}, NULL}, {EG_F32, 2, {ROWS, N}, NULL}, {EG_F32, 2, {M, N}, NULL}};
    for (size_t i = 0; i < 3; i++) {
        const size_t n = (size_t)(x[i].shape[0] * x[i].shape[1]);
        float *data = x[i].data = test_alloc(n * sizeof *data);
        for (size_t k = 0; k < n; k++) data[k] = test_random(&state);
        CHECK_OK(eg_instance_bind(instance, (const char *[]){"a", "b", "d"}[i], &x[i], &error),
                 error);
    }
    eg_tensor y[3];
    for (size_t i = 0; i < count; i++)
        CHECK_OK(eg_instance_output(instance, out[i].name, &y[i], &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    for (size_t i = 0; i < count; i++) {
        uint64_t n;
        CHECK_OK(eg_tensor_measure(&y[i], &n, NULL, &error), error);
        memcpy(to, y[i].data, (size_t)n * sizeof *to);
        to += n;
    }
    for (size_t i = 0; i < 3; i++) free(x[i].data);
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

TEST(slices, same_bits_on_any_threads) {
    enum { ALL = M * N + N + M };
    float *one = test_alloc(ALL * sizeof *one), *more = test_alloc(ALL * sizeof *more);
    run(1, one);
    for (unsigned threads = 2; threads <= 4; threads++) {
        run(threads, more);
        CHECK(memcmp(one, more, ALL * sizeof *one) == 0, "%u threads give other bits", threads);
    }
    free(one);
    free(more);
}

TEST(slices, what_the_definition_says) {
    eg_context *context;
    eg_error error;
    eg_graph *g;
    eg_output out[3];
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 2}, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const size_t count = build(g, out);
    compiled_check(context, g, count, out,
                   &(compiled_case){.name = "slices", .low = -0.1, .high = 0.1});
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
