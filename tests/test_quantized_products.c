/* Products with quantized parameters, through the whole compiler. */
#include "elegans/elegans.h"
#include "test.h"

#include <math.h>

AREA(quantized_products, "every type and granularity through slices, concats, scans; as f32 would")

enum { K = 53, N = 37, BATCH = 5, STEPS = 4 };

typedef struct subject {
    eg_context *context;
    eg_quantized first, second; /* [N, K] each */
    eg_tensor wide[2];          /* the same in f32 */
} subject;

static subject subject_open(const eg_quantization *quantization, unsigned threads) {
    subject s = {0};
    eg_error error;
    uint64_t seed = 7, shape[] = {N, K};
    const eg_context_options options = {.threads = threads};
    CHECK_OK(eg_context_create(&options, &s.context, &error), error);
    eg_quantized *const both[] = {&s.first, &s.second};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(eg_tensor_create(s.context, EG_F32, 2, shape, &s.wide[i], &error), error);
        float *x = s.wide[i].data;
        for (int k = 0; k < N * K; k++) x[k] = test_random(&seed) * (float)(1 + k % 3) + 0.2f;
        CHECK_OK(eg_quantize(s.context, &s.wide[i], quantization, both[i], &error), error);
        CHECK_OK(eg_dequantize(s.context, both[i], &s.wide[i], &error), error);
    }
    return s;
}

static void subject_close(subject *s) {
    eg_quantized_release(s->context, &s->first);
    eg_quantized_release(s->context, &s->second);
    for (int i = 0; i < 2; i++) eg_tensor_release(s->context, &s->wide[i]);
    eg_context_destroy(s->context);
}

/* A cell whose products see slices, concats and transposes of both. */
static eg_node build(eg_graph *g, eg_node a, eg_node b, bool straight) {
    eg_node x = eg_input(g, "x", EG_F32, 3, (uint64_t[]){STEPS, BATCH, K - N});
    eg_node bias = eg_parameter(g, "bias", 1, (uint64_t[]){N});
    eg_node scan = eg_scan(g, STEPS, 0);
    eg_node h =
        eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0.5), 2, (uint64_t[]){BATCH, N}));
    eg_node both[] = {eg_scan_step(g, scan, x), h};
    eg_node in = eg_concat(g, 1, 2, both);
    eg_node u = eg_tanh(g, eg_add(g, eg_matmul_transposed(g, in, 0, a, 1), bias));
    eg_node v = eg_sigmoid(g, eg_matmul_transposed(g, in, 0, b, 1));
    eg_scan_update(g, h, eg_mul(g, u, v));
    eg_node all = eg_scan_stack(g, scan, h);
    eg_node part = eg_slice(g, eg_slice(g, b, 0, 3, 20), 1, 7, N);
    eg_node y = eg_matmul_transposed(g, all, 0, part, 1);
    return straight ? eg_matmul(g, y, eg_slice(g, a, 0, 0, 20)) : y;
}

typedef struct result {
    eg_tensor y;
    size_t products, wide;
} result;

static result run(subject *s, const eg_quantization *quantization, const char *passes,
                  bool straight) {
    eg_error error;
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    result r = {0};
    const uint64_t shape[] = {N, K};
    CHECK_OK(eg_graph_create(s->context, &graph, &error), error);
    eg_node a = quantization ? eg_parameter_quantized(graph, "a", quantization, 2, shape)
                             : eg_parameter(graph, "a", 2, shape);
    eg_node b = quantization ? eg_parameter_quantized(graph, "b", quantization, 2, shape)
                             : eg_parameter(graph, "b", 2, shape);
    const eg_output output = {"y", build(graph, a, b, straight)};
    const eg_compile_options options = {.passes = passes};
    CHECK_OK(eg_compile(s->context, graph, 1, &output, &options, &program, &error), error);
    eg_graph_destroy(graph);
    CHECK_OK(eg_weights_create(program, &weights, &error), error);
    float bias[N], x[STEPS * BATCH * (K - N)];
    uint64_t seed = 3;
    for (int i = 0; i < N; i++) bias[i] = test_random(&seed);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = test_random(&seed);
    CHECK_OK(eg_weights_set(weights, "bias", &(eg_tensor){EG_F32, 1, {N}, bias}, &error), error);
    if (quantization) {
        CHECK_OK(eg_weights_set_quantized(weights, "a", &s->first, &error), error);
        CHECK_OK(eg_weights_set_quantized(weights, "b", &s->second, &error), error);
    } else {
        CHECK_OK(eg_weights_set(weights, "a", &s->wide[0], &error), error);
        CHECK_OK(eg_weights_set(weights, "b", &s->wide[1], &error), error);
    }
    CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
    const eg_tensor in = {EG_F32, 3, {STEPS, BATCH, K - N}, x};
    CHECK_OK(eg_instance_bind(instance, "x", &in, &error), error);
    eg_tensor y;
    CHECK_OK(eg_instance_output(instance, "y", &y, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    CHECK_OK(eg_tensor_create(s->context, EG_F32, y.rank, y.shape, &r.y, &error), error);
    CHECK_OK(eg_tensor_convert(s->context, &y, &r.y, &error), error);
    eg_step_info step = {.size = sizeof step};
    for (size_t i = 0; !eg_program_step(program, i, &step, NULL); i++) {
        r.products += strncmp(step.kernel, "gemm_", 5) == 0;
        r.wide += strcmp(step.kernel, "widen") == 0;
    }
    eg_instance_destroy(instance);
    eg_weights_destroy(weights);
    eg_program_release(program);
    return r;
}

static void check(const eg_quantization *quantization, bool straight) {
    const bool half = quantization->type == EG_F16 || quantization->type == EG_BF16;
    subject s = subject_open(quantization, 2);
    result exact = run(&s, NULL, NULL, straight);
    static const char *const ways[] = {NULL, "none", "-quantized", "quantized", "-hoist,-siblings"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        result small = run(&s, quantization, ways[i], straight);
        eg_difference d = {0};
        eg_error error;
        CHECK_OK(eg_tensor_compare(&exact.y, &small.y, &d, &error), error);
        const bool fits = quantization->integers ? d.snr > 25 : d.most < 3e-4;
        CHECK(d.count >= STEPS * BATCH * 20 && fits,
              "%s per %s block %u, passes '%s': off by %g, %g dB", eg_type_name(quantization->type),
              eg_granularity_name(quantization->per), quantization->block,
              ways[i] ? ways[i] : "all", d.most, d.snr);
        const bool on = i == 0 || i == 3;
        CHECK(!on || small.products >= 3, "%zu products of quantized weights", small.products);
        CHECK(on || i == 4 || !small.products, "products although the pass is off");
        CHECK(!on || !small.wide == (!straight || half), "%zu widened", small.wide);
        eg_tensor_release(s.context, &small.y);
    }
    eg_tensor_release(s.context, &exact.y);
    subject_close(&s);
}

TEST(quantized_products, as_f32_would) {
    static const eg_type types[] = {EG_F16, EG_BF16, EG_I8, EG_I4};
    for (int t = 0; t < 4; t++)
        for (int per = 0; per < 3; per++)
            for (int symmetric = 0; symmetric < 2; symmetric++) {
                eg_quantization quantization = {.type = types[t],
                                                .per = (eg_granularity)per,
                                                .block = 16,
                                                .symmetric = symmetric};
                check(&quantization, false);
                quantization.block = 5;
                if (per == EG_PER_BLOCK) check(&quantization, false);
                check(&quantization,
                      true); /* a right side that is not turned: halves alone can have it */
            }
}

TEST(quantized_products, integers) {
    for (int t = 0; t < 2; t++)
        for (int per = 0; per < 3; per++) {
            const eg_quantization quantization = {.type = t ? EG_I8 : EG_I4,
                                                  .per = (eg_granularity)per,
                                                  .block = 16,
                                                  .symmetric = t,
                                                  .integers = 1};
            check(&quantization, false);
        }
}

/* Rows of a table in quantized numbers are widened when they are picked, not before. */
TEST(quantized_products, rows_of_tables) {
    static const eg_quantization quantization[] = {
        {.type = EG_F16},
        {.type = EG_BF16},
        {.type = EG_I8, .per = EG_PER_CHANNEL},
        {.type = EG_I8, .per = EG_PER_TENSOR, .symmetric = 1},
        {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32},
        {.type = EG_I4, .per = EG_PER_CHANNEL, .symmetric = 1},
    };
    enum { ROWS = 900, COLUMNS = 301, PICKED = 6, FIRST = 2 };
    const uint64_t shape[] = {ROWS, COLUMNS};
    static const int32_t picked[PICKED] = {0, 896, 5, -1, 897, 5}; /* two are not there */
    for (size_t t = 0; t < sizeof quantization / sizeof *quantization; t++) {
        eg_context *context;
        eg_error error;
        eg_quantized table = {0};
        eg_tensor wide;
        uint64_t seed = 9;
        CHECK_OK(eg_context_create(NULL, &context, &error), error);
        CHECK_OK(eg_tensor_create(context, EG_F32, 2, shape, &wide, &error), error);
        for (int k = 0; k < ROWS * COLUMNS; k++) ((float *)wide.data)[k] = test_random(&seed);
        CHECK_OK(eg_quantize(context, &wide, &quantization[t], &table, &error), error);
        CHECK_OK(eg_dequantize(context, &table, &wide, &error), error);
        for (int all = 0; all < 2; all++) {
            eg_graph *g;
            eg_program *program;
            eg_weights *weights;
            eg_instance *instance;
            eg_tensor y;
            eg_program_info info = {.size = sizeof info};
            const eg_compile_options options = {.passes = all ? NULL : "none"};
            CHECK_OK(eg_graph_create(context, &g, &error), error);
            eg_node rows =
                eg_slice(g, eg_parameter_quantized(g, "table", &quantization[t], 2, shape), 0,
                         FIRST, ROWS - FIRST - 1);
            eg_node index = eg_input(g, "index", EG_I32, 1, (uint64_t[]){PICKED});
            const eg_output output = {"y", eg_gather(g, rows, index)};
            CHECK_OK(eg_compile(context, g, 1, &output, &options, &program, &error), error);
            CHECK_OK(eg_weights_create(program, &weights, &error), error);
            CHECK_OK(eg_weights_set_quantized(weights, "table", &table, &error), error);
            CHECK_OK(eg_instance_create(program, weights, &instance, &error), error);
            const eg_tensor at = {EG_I32, 1, {PICKED}, (void *)(uintptr_t)picked};
            CHECK_OK(eg_instance_bind(instance, "index", &at, &error), error);
            CHECK_OK(eg_instance_output(instance, "y", &y, &error), error);
            CHECK_OK(eg_run(instance, NULL, &error), error);
            for (int r = 0; r < PICKED; r++) {
                const bool there = picked[r] >= 0 && picked[r] < ROWS - FIRST - 1;
                static const float zeros[COLUMNS];
                const float *want =
                    there ? (float *)wide.data + (FIRST + picked[r]) * COLUMNS : zeros;
                CHECK(memcmp((float *)y.data + r * COLUMNS, want, sizeof zeros) == 0,
                      "type %zu, passes %d: row %d differs", t, all, picked[r]);
            }
            eg_program_info_get(program, &info);
            CHECK(all ? info.derived_bytes == 0 : info.derived_bytes >= ROWS * COLUMNS * 4,
                  "type %zu, passes %d: %llu bytes derived", t, all,
                  (unsigned long long)info.derived_bytes);
            eg_instance_destroy(instance);
            eg_weights_destroy(weights);
            eg_program_release(program);
            eg_graph_destroy(g);
        }
        eg_quantized_release(context, &table);
        eg_tensor_release(context, &wide);
        eg_context_destroy(context);
    }
}
