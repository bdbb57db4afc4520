/* Values of two bytes: cast, moved, bound, stacked; against the evaluation in double. */
#include "engine/program.h"
#include "test.h"
#include "test_models.h"

#include <math.h>

AREA(cast, "f16 and bf16 values: casts, movement, scans, memory, gradients, refusals")

enum { T = 5, B = 6, C = 8 };

/* x [T, B, C] f32 -> halves that are sliced, transposed, joined, broadcast, gathered, stepped through and stacked. */
static eg_node build(eg_graph *g, eg_type type, eg_node *half, eg_node *leaf) {
    const eg_node x = *leaf = eg_input(g, "x", EG_F32, 3, (uint64_t[]){T, B, C});
    const eg_node h = eg_cast(g, eg_mul(g, x, eg_scalar(g, 1.7)), type);
    const eg_node a = eg_slice(g, h, 2, 2, 5), b = eg_slice(g, h, 2, 0, 3);
    const eg_node joined = eg_concat(g, 2, 2, (eg_node[]){a, b});
    const eg_node turned = eg_transpose(g, joined, (unsigned[]){0, 2, 1}); /* [T, C, B] */
    const eg_node flat = eg_reshape(g, turned, 2, (uint64_t[]){T, C * B});
    const eg_node scan = eg_scan(g, T, 0);
    const eg_node now = eg_scan_step(g, scan, flat);
    const eg_node carry = eg_scan_carry(g, scan, eg_scalar(g, 0));
    const eg_node wide = eg_cast(g, now, EG_F32);
    eg_scan_update(g, carry, eg_add(g, carry, eg_sum(g, wide, EG_ALL_AXES, 0)));
    const eg_node again = eg_cast(g, eg_add(g, eg_tanh(g, wide), carry), type);
    const eg_node stack = eg_scan_stack(g, scan, again); /* [T, C B] of halves */
    int32_t rows[] = {3, 0, 7, 3};
    const eg_node index = eg_constant(g, &(eg_tensor){EG_I32, 1, {4}, rows});
    const eg_node picked = eg_gather(g, stack, index); /* row 7 is none */
    *half = eg_broadcast(g, eg_reshape(g, picked, 3, (uint64_t[]){1, 4, C * B}), 3,
                         (uint64_t[]){2, 4, C * B});
    return eg_cast(g, *half, EG_F32);
}

static float widened(eg_type type, uint16_t half) {
    float value;
    if (type == EG_F16) eg__f16_to_f32_ref(1, &half, &value);
    else eg__bf16_to_f32_ref(1, &half, &value);
    return value;
}

static void check_moves(eg_type type, unsigned threads) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    eg_node half, leaf;
    const eg_context_options options = {.size = sizeof options, .threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node y = build(g, type, &half, &leaf);
    const eg_output outputs[] = {{"y", y}, {"half", half}};
    model_run m = model_start(context, g, 2, outputs, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const eg_tensor got = model_output(&m, "y"), halves = model_output(&m, "half");
    CHECK(halves.type == type, "the output is '%s'", eg_type_name(halves.type));
    const size_t n = 2 * 4 * C * B;
    double *want = test_alloc(n * sizeof *want), *x = test_alloc(T * B * C * sizeof *x);
    const eg_tensor bound = model_input(&m, "x");
    for (size_t i = 0; i < T * B * C; i++) x[i] = (double)((const float *)bound.data)[i];
    const eg__binding value = {leaf, x};
    CHECK_OK(eg__graph_evaluate(g, 1, &value, 1, &y, &want, false, 0, &error), error);
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)((const float *)got.data)[i] - want[i]);
        const double step = type == EG_F16 ? 0x1p-10 : 0x1p-7; /* one place of rounding */
        CHECK(off <= step * fmax(1, fabs(want[i])), "%s: y[%zu] is %g, not %g", eg_type_name(type),
              i, (double)((const float *)got.data)[i], want[i]);
        CHECK(widened(type, ((const uint16_t *)halves.data)[i]) == ((const float *)got.data)[i],
              "half %zu", i);
    }
    free(want);
    free(x);
    eg_graph_destroy(g);
    model_close(&m);
}

TEST(cast, moved_halves) {
    check_moves(EG_F16, 1);
    check_moves(EG_BF16, 1);
    check_moves(EG_F16, 3);
}

/* ---- inputs and outputs of halves, memory, lengths */
static uint64_t arena_of(eg_type type, uint64_t *bytes) {
    enum { N = 4096 };
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    /* turned twice by copies that nothing can be a view of */
    const eg_node x = eg_input(g, "x", type, 2, (uint64_t[]){N, 2});
    const eg_node a = eg_reshape(g, eg_transpose(g, x, (unsigned[]){1, 0}), 1, (uint64_t[]){2 * N});
    const eg_node b = eg_reshape(g, a, 2, (uint64_t[]){N, 2});
    const eg_node c = eg_reshape(g, eg_transpose(g, b, (unsigned[]){1, 0}), 1, (uint64_t[]){2 * N});
    const eg_output output = {"y", c};
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(program, &info);
    *bytes = (uint64_t)info.bytes;
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return info.arena_bytes;
}

TEST(cast, half_the_memory) {
    uint64_t moved[2];
    const uint64_t floats = arena_of(EG_F32, &moved[0]), halves = arena_of(EG_BF16, &moved[1]);
    CHECK(floats > 0 && floats == 2 * halves, "%llu and %llu bytes of arena",
          (unsigned long long)floats, (unsigned long long)halves);
    CHECK(moved[0] == 2 * moved[1], "%llu and %llu bytes moved", (unsigned long long)moved[0],
          (unsigned long long)moved[1]);
}

/* A sequence of halves, of which a shorter run reads and writes less. */
TEST(cast, timed_sequences) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    uint16_t x[T * C], y[T * C];
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node in = eg_input(g, "x", EG_F16, 2, (uint64_t[]){T, C});
    const eg_node scan = eg_scan(g, T, 0);
    const eg_node carry =
        eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0), 1, (uint64_t[]){C}));
    const eg_node sum = eg_add(g, carry, eg_cast(g, eg_scan_step(g, scan, in), EG_F32));
    eg_scan_update(g, carry, sum);
    const eg_output output = {"y", eg_scan_stack(g, scan, eg_cast(g, sum, EG_F16))};
    eg_program *program = NULL;
    eg_instance *instance = NULL;
    CHECK_OK(eg_compile(context, g, 1, &output, NULL, &program, &error), error);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    for (int i = 0; i < T * C; i++) {
        const float value = (float)(i % 7);
        eg__f32_to_f16_ref(1, &value, &x[i]);
    }
    const eg_tensor from = {EG_F16, 2, {T, C}, x}, to = {EG_F16, 2, {T, C}, y};
    CHECK_OK(eg_instance_bind(instance, "x", &from, &error), error);
    CHECK_OK(eg_instance_bind(instance, "y", &to, &error), error);
    for (uint64_t length = 2; length <= T; length += 3) {
        memset(y, 0xff, sizeof y);
        const eg_run_options options = {.size = sizeof options, .length = length};
        CHECK_OK(eg_run(instance, &options, &error), error);
        for (int i = 0; i < T * C; i++) {
            float want = 0;
            for (int k = i % C; k <= i; k += C) want += (float)(k % 7);
            const bool ran = (uint64_t)(i / C) < length;
            CHECK(ran ? widened(EG_F16, y[i]) == want : y[i] == 0xffff, "length %llu: y[%d] is %g",
                  (unsigned long long)length, i, (double)widened(EG_F16, y[i]));
        }
    }
    eg_instance_destroy(instance);
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

/* Gradients pass through in f32: that of sum(w * cast(cast(x))) is w itself. */
TEST(cast, gradients) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_error error;
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const uint64_t shape[] = {4, 6};
    const eg_node x = eg_parameter(g, "x", 2, shape), w = eg_input(g, "w", EG_F32, 2, shape);
    const eg_node half = eg_cast(g, x, EG_BF16);
    const eg_node parts[] = {eg_slice(g, half, 1, 3, 3), eg_slice(g, half, 1, 0, 3)};
    const eg_node y = eg_cast(g, eg_concat(g, 1, 2, parts), EG_F32);
    const eg_node loss = eg_sum(g, eg_mul(g, y, w), EG_ALL_AXES, 0);
    eg_node d;
    CHECK_OK(eg_gradient(g, loss, 1, &x, &d, &error), error);
    const eg_output outputs[] = {{"d", d}, {"loss", loss}};
    model_run m = model_start(context, g, 2, outputs, NULL);
    CHECK_OK(eg_run(m.instance, NULL, &error), error);
    const float *got = model_output(&m, "d").data, *want = model_input(&m, "w").data;
    for (int i = 0; i < 24; i++)
        CHECK(got[i] == want[i / 6 * 6 + (i + 3) % 6], "d[%d] is %g", i, (double)got[i]);
    eg_graph_destroy(g);
    model_close(&m);
}

/* ---- what is refused */
TEST(cast, refused) {
    for (int what = 0; what < 12; what++) {
        eg_context *context = NULL;
        eg_graph *g = NULL;
        eg_error error;
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){3, 4});
        const eg_node h = eg_input(g, "h", EG_F16, 2, (uint64_t[]){3, 4});
        const eg_node w = eg_input(g, "w", EG_F32, 2, (uint64_t[]){4, 2});
        const char *part = "input 0, 'h' of type 'f16', must be cast to f32";
        switch (what) {
        case 0: eg_tanh(g, h); break;
        case 1: eg_matmul(g, h, w); break;
        case 2: eg_softmax(g, h); break;
        case 3: eg_sum(g, h, 1, 0); break;
        case 4: eg_pad(g, h, 0, 1, 1, 0); break;
        case 5: eg_add(g, x, h), part = "add: input 1, 'h'", part = "input 1, 'h'"; break;
        case 6: eg_scan_carry(g, eg_scan(g, 3, 0), h), part = "input 1, 'h'"; break;
        case 7: eg_scan_sum(g, eg_scan(g, 3, 0), h), part = "input 1, 'h'"; break;
        case 8: eg_cast(g, h, EG_BF16), part = "from 'f16'"; break;
        case 9: eg_cast(g, x, EG_F32), part = "from 'f32'"; break;
        case 10: eg_cast(g, x, EG_I32), part = "one of them is f32"; break;
        default: eg_cast(g, x, EG_I8), part = "one of them is f32"; break;
        }
        CHECK_FAILS(eg_graph_check(g, &error), error, EG_ERR_ARGUMENT, part);
        eg_graph_destroy(g);
        eg_context_destroy(context);
    }
}
