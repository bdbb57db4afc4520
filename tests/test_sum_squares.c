/* sum_squares: sums beyond the range of floats, every number once, the same bits on any threads. */
#include "test.h"

#include "elegans/elegans.h"

#include <math.h>

AREA(sum_squares,
     "sums of squares: all digits of a double, its range, the same bits on any threads")

static double sum_of(eg_context *context, const float *x, uint64_t n, size_t *steps) {
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    eg_error error;
    float y[4];
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_output output = {"y", eg_sum_squares(g, eg_input(g, "x", EG_F32, 1, &n))};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    const eg_tensor in = {EG_F32, 1, {n}, (void *)(uintptr_t)x}, out = {EG_F32, 1, {4}, y};
    CHECK_OK(eg_instance_bind(instance, "x", &in, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &out, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    *steps = info.run_steps;
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    return eg_sum_squares_value(y);
}

/* Lengths around those of lanes and blocks. */
TEST(sum_squares, any_length_on_any_threads) {
    static const size_t lengths[] = {0, 1, 7, 8, 9, 4095, 4096, 4097, 12289, 300001};
    enum { MOST = 300001 };
    eg_context *contexts[3];
    eg_error error;
    for (unsigned t = 0; t < 3; t++)
        CHECK_OK(eg_context_create(&(eg_context_options){.threads = t + 1}, &contexts[t], &error),
                 error);
    float *x = test_alloc(MOST * sizeof *x);
    uint64_t state = 3;
    for (size_t i = 0; i < MOST; i++) x[i] = test_random(&state);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        double want = 0;
        size_t steps = 0;
        for (size_t i = 0; i < lengths[k]; i++) want += (double)x[i] * (double)x[i];
        const double one = sum_of(contexts[0], x, lengths[k], &steps);
        CHECK(fabs(one - want) <= 1e-12 * want && steps == 1, "%zu numbers: %.17g, not %.17g",
              lengths[k], one, want);
        for (unsigned t = 1; t < 3; t++)
            CHECK(one == sum_of(contexts[t], x, lengths[k], &steps), "%zu numbers: other bits",
                  lengths[k]);
    }
    free(x);
    for (unsigned t = 0; t < 3; t++) eg_context_destroy(contexts[t]);
}

TEST(sum_squares, range) {
    const float large = 3e38f, small = 1e-45f, digits = 1 + 0x1p-23f;
    eg_context *context;
    eg_error error;
    size_t steps;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK(sum_of(context, (float[]){large, -large}, 2, &steps) == 2 * (double)large * (double)large,
          "overflow");
    CHECK(sum_of(context, &small, 1, &steps) == (double)small * (double)small, "underflow");
    CHECK(sum_of(context, (float[]){digits, 0x1p-26f}, 2, &steps) ==
              (double)digits * (double)digits + 0x1p-52,
          "lost digits");
    CHECK(isinf(sum_of(context, (float[]){1, INFINITY}, 2, &steps)), "not infinite");
    CHECK(isnan(sum_of(context, (float[]){NAN, INFINITY}, 2, &steps)), "not NaN");
    eg_context_destroy(context);
}

/* Inside of a scan, of what its steps compute: of all samples together, by one thread. */
TEST(sum_squares, in_a_scan) {
    enum { T = 3, B = 2 };
    float x[T][B] = {{1, 2}, {3, 4}, {5, 6}}, y[T][4];
    eg_context *context;
    eg_graph *g;
    eg_program *program;
    eg_instance *instance;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 2}, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node all = eg_input(g, "x", EG_F32, 2, (uint64_t[]){T, B}), scan = eg_scan(g, T, 0);
    const eg_node carry = eg_scan_carry(g, scan, eg_input(g, "h", EG_F32, 1, (uint64_t[]){B}));
    const eg_node next = eg_add(g, carry, eg_scan_step(g, scan, all));
    eg_scan_update(g, carry, next);
    const eg_output output = {"y", eg_scan_stack(g, scan, eg_sum_squares(g, next))};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    const eg_tensor in = {EG_F32, 2, {T, B}, x}, h = {EG_F32, 1, {B}, (float[B]){0}},
                    out = {EG_F32, 2, {T, 4}, y};
    CHECK_OK(eg_instance_bind(instance, "x", &in, &error), error);
    CHECK_OK(eg_instance_bind(instance, "h", &h, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &out, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    static const double want[T] = {1 + 4, 16 + 36, 81 + 144};
    for (int t = 0; t < T; t++)
        CHECK(eg_sum_squares_value(y[t]) == want[t], "step %d: %g, not %g", t,
              eg_sum_squares_value(y[t]), want[t]);
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}
