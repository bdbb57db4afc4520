/* Inputs that lie as files have them, through the whole compiler. */
#include "elegans/elegans.h"
#include "test.h"

#include "graph/ops/quantized.h"
#include "kernels/kernels.h"

#include <math.h>

AREA(infile_products, "stored inputs multiplied, picked, sliced, in scans; as f32 would")

enum { WIDTH = 64, HIDDEN = 160, WORDS = 131, MOST = 20 };

static const eg_quantization ways[] = {
    {.type = EG_F32},
    {.type = EG_F16},
    {.type = EG_BF16},
    {.type = EG_I8, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1, .layout = EG_LAYOUT_BLOCKS},
    {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1, .layout = EG_LAYOUT_BLOCKS},
    {.type = EG_I8,
     .per = EG_PER_BLOCK,
     .block = 32,
     .symmetric = 1,
     .integers = 1,
     .layout = EG_LAYOUT_BLOCKS},
    {.type = EG_I4,
     .per = EG_PER_BLOCK,
     .block = 32,
     .symmetric = 1,
     .integers = 1,
     .layout = EG_LAYOUT_BLOCKS},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- weights: as files have them, aligned to no more than they must be; and in f32 */
static const struct {
    const char *name;
    uint64_t shape[2];
} tables[] = {{"words", {WORDS, WIDTH}},
              {"both", {2 * WIDTH, WIDTH}},
              {"up", {HIDDEN, WIDTH}},
              {"gate", {HIDDEN, WIDTH}},
              {"down", {WIDTH, HIDDEN}}};
enum { TABLES = sizeof tables / sizeof *tables };

typedef struct weight {
    uint8_t *memory;
    eg_tensor stored, wide;
} weight;

static void encode_block(eg__infile_format format, const float *x, uint8_t *to) {
    float most = 0;
    for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(x[i]));
    const float scale = most / (format == EG__INFILE_Q8_0 ? 127 : 7);
    uint16_t half;
    eg__f32_to_f16_ref(1, &scale, &half);
    memcpy(to, &half, sizeof half);
    for (int i = 0; i < 32; i++) {
        const int q = (int)lrintf(x[i] / scale);
        if (format == EG__INFILE_Q8_0) to[2 + i] = (uint8_t)q;
        else if (i < 16) to[2 + i] = (uint8_t)(q + 8);
        else to[2 + i - 16] |= (uint8_t)((q + 8) << 4);
    }
}

static weight weight_make(const eg_quantization *quantization, const uint64_t shape[2],
                          uint64_t *seed) {
    eg__infile_format format = EG__INFILE_F32;
    CHECK(eg__infile_format_of(quantization, &format), "no format for %s",
          eg_type_name(quantization->type));
    const size_t n = (size_t)(shape[0] * shape[1]), bytes = eg__infile_bytes(format, n);
    weight w = {.memory = test_alloc(bytes + 4)};
    uint8_t *to = w.memory + eg__infile_traits_of(format)->alignment;
    float *wide = test_alloc(n * sizeof *wide);
    for (size_t i = 0; i < n; i++) wide[i] = test_random(seed) / 8;
    if (format == EG__INFILE_F32) memcpy(to, wide, bytes);
    else if (format == EG__INFILE_F16) eg__f32_to_f16_ref(n, wide, (uint16_t *)(void *)to);
    else if (format == EG__INFILE_BF16) eg__f32_to_bf16_ref(n, wide, (uint16_t *)(void *)to);
    else
        for (size_t i = 0; i < n; i += 32)
            encode_block(format, wide + i, to + eg__infile_bytes(format, i));
    for (size_t i = 0; i < n; i++) wide[i] = eg__infile_number(format, to, i);
    w.stored = (eg_tensor){quantization->type, 2, {shape[0], shape[1]}, to};
    w.wide = (eg_tensor){EG_F32, 2, {shape[0], shape[1]}, wide};
    return w;
}

/* ---- a block as transformers have it: rows picked, a product that is cut in two, a gate, products with
 * what is added, the words once more */
typedef struct leaves {
    eg_node words, both, up, gate, down;
} leaves;

static eg_node build_block(eg_graph *g, const leaves *w, eg_node tokens) {
    eg_node x = eg_gather(g, w->words, tokens);
    eg_node u = eg_matmul_transposed(g, x, 0, eg_slice(g, w->both, 0, 0, WIDTH), 1);
    eg_node v =
        eg_matmul(g, x, eg_transpose(g, eg_slice(g, w->both, 0, WIDTH, WIDTH), (unsigned[]){1, 0}));
    x = eg_add(g, x, eg_mul(g, eg_tanh(g, u), v));
    eg_node h = eg_mul(g, eg_silu(g, eg_matmul_transposed(g, x, 0, w->gate, 1)),
                       eg_matmul_transposed(g, x, 0, w->up, 1));
    x = eg_add(g, x, eg_matmul_transposed(g, h, 0, w->down, 1));
    eg_node bias =
        eg_slice(g, eg_input(g, "bias", EG_F32, 1, (uint64_t[]){WORDS + 1}), 0, 1, WORDS);
    return eg_add(g, eg_matmul_transposed(g, x, 0, w->words, 1), bias);
}

/* A cell: its products are inside of a scan, and what it needs of the words before it. */
static eg_node build_scan(eg_graph *g, const leaves *w, eg_node tokens) {
    const uint64_t steps = eg_graph_size(g) ? 3 : 0, batch = 2;
    eg_node index = eg_reshape(g, tokens, 2, (uint64_t[]){steps, batch});
    eg_node scan = eg_scan(g, steps, 0);
    eg_node h =
        eg_scan_carry(g, scan, eg_broadcast(g, eg_scalar(g, 0.5), 2, (uint64_t[]){batch, WIDTH}));
    eg_node x = eg_gather(g, w->words, eg_scan_step(g, scan, index));
    eg_node u = eg_matmul_transposed(g, h, 0, eg_slice(g, w->both, 0, 5, WIDTH), 1);
    eg_scan_update(g, h, eg_tanh(g, eg_add(g, u, x)));
    eg_node all = eg_scan_stack(g, scan, h);
    return eg_reshape(g, eg_matmul_transposed(g, all, 0, w->up, 1), 2,
                      (uint64_t[]){steps * batch, HIDDEN});
}

typedef struct result {
    eg_tensor y;
    size_t products, gathers, wide, packs;
} result;

/* how = NULL: the same with parameters in f32. */
static result run(eg_context *context, const eg_quantization *quantization, weight *weights,
                  size_t m, bool scans, const char *passes) {
    eg_error error;
    eg_graph *graph;
    eg_program *program;
    eg_instance *instance;
    result r = {0};
    eg_node node[TABLES];
    CHECK_OK(eg_graph_create(context, &graph, &error), error);
    for (int i = 0; i < TABLES; i++)
        node[i] = quantization
                      ? eg_input_infile(graph, tables[i].name, quantization, 2, tables[i].shape)
                      : eg_input(graph, tables[i].name, EG_F32, 2, tables[i].shape);
    const leaves w = {node[0], node[1], node[2], node[3], node[4]};
    const eg_node tokens = eg_input(graph, "tokens", EG_I32, 1, (uint64_t[]){m});
    const eg_output output = {"y", (scans ? build_scan : build_block)(graph, &w, tokens)};
    const eg_compile_options options = {.passes = passes};
    CHECK_OK(eg_compile(context, graph, 1, &output, &options, &program, &error), error);
    eg_graph_destroy(graph);
    CHECK_OK(eg_instance_create(program, NULL, &instance, &error), error);
    for (int i = 0; i < TABLES; i++)
        CHECK_OK(eg_instance_bind(instance, tables[i].name,
                                  quantization ? &weights[i].stored : &weights[i].wide, &error),
                 error);
    float bias[WORDS + 1];
    int32_t index[MOST];
    uint64_t seed = 3;
    for (int i = 0; i <= WORDS; i++) bias[i] = test_random(&seed);
    for (size_t i = 0; i < m; i++) index[i] = (int32_t)(i * 37 % WORDS) - (i == 4); /* none is -1 */
    if (m > 5) index[5] = WORDS; /* a row of zeros */
    CHECK_OK(eg_instance_bind(instance, "tokens", &(eg_tensor){EG_I32, 1, {m}, index}, &error),
             error);
    if (!scans)
        CHECK_OK(
            eg_instance_bind(instance, "bias", &(eg_tensor){EG_F32, 1, {WORDS + 1}, bias}, &error),
            error);
    eg_tensor y;
    CHECK_OK(eg_instance_output(instance, "y", &y, &error), error);
    CHECK_OK(eg_run(instance, NULL, &error), error);
    CHECK_OK(eg_tensor_create(context, EG_F32, y.rank, y.shape, &r.y, &error), error);
    CHECK_OK(eg_tensor_convert(context, &y, &r.y, &error), error);
    eg_step_info step = {.size = sizeof step};
    for (size_t i = 0; !eg_program_step(program, i, &step, NULL); i++) {
        r.products += strcmp(step.operation, "infile_matmul") == 0;
        r.gathers += strcmp(step.operation, "infile_gather") == 0;
        r.wide += strcmp(step.kernel, "widen") == 0;
        r.packs += strcmp(step.kernel, "pack") == 0;
    }
    eg_instance_destroy(instance);
    eg_program_release(program);
    return r;
}

static void check(const eg_quantization *quantization, unsigned threads, size_t m, bool scans) {
    eg_error error;
    eg_context *context;
    const eg_context_options options = {.threads = threads};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    weight weights[TABLES];
    uint64_t seed = 11;
    for (int i = 0; i < TABLES; i++) weights[i] = weight_make(quantization, tables[i].shape, &seed);
    result exact = run(context, NULL, weights, m, scans, "none");
    static const char *const passes[] = {NULL, "none", "-rows", "rows", "-fuse", "-epilogue"};
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        result got = run(context, quantization, weights, m, scans, passes[i]);
        eg_difference d = {0};
        CHECK_OK(eg_tensor_compare(&exact.y, &got.y, &d, &error), error);
        const bool off = i == 1 || i == 2;
        const bool fits = quantization->integers && !off ? d.snr > 30 : d.most < 1e-5;
        CHECK(d.count == m * (scans ? HIDDEN : WORDS) && fits,
              "%s%s, %zu rows, passes '%s': off by %g, %g dB", eg_type_name(quantization->type),
              quantization->integers ? " integers" : "", m, passes[i] ? passes[i] : "all", d.most,
              d.snr);
        CHECK(off ? !got.products && !got.gathers && got.wide
                  : got.products == (scans ? 2 : 6) && got.gathers == 1 && !got.wide && !got.packs,
              "passes '%s': %zu products, %zu gathers, %zu widened, %zu packed",
              passes[i] ? passes[i] : "all", got.products, got.gathers, got.wide, got.packs);
        eg_tensor_release(context, &got.y);
    }
    eg_tensor_release(context, &exact.y);
    for (int i = 0; i < TABLES; i++) {
        free(weights[i].memory);
        free(weights[i].wide.data);
    }
    eg_context_destroy(context);
}

TEST(infile_products, as_f32_would) {
    static const size_t rows[] = {1, 3, 6, MOST};
    for (size_t w = 0; w < WAYS; w++)
        for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
            check(&ways[w], 1 + (unsigned)(w + m) % 2, rows[m], false);
}

TEST(infile_products, scans) {
    for (size_t w = 0; w < WAYS; w++) check(&ways[w], 1 + (unsigned)w % 2, 6, true);
}

/* ---- the same bits whatever the number of threads */
TEST(infile_products, threads) {
    for (size_t w = 0; w < WAYS; w++) {
        eg_tensor y[2];
        eg_context *context[2];
        for (unsigned t = 0; t < 2; t++) {
            eg_error error;
            weight weights[TABLES];
            uint64_t seed = 5;
            const eg_context_options options = {.threads = t ? 3 : 1};
            CHECK_OK(eg_context_create(&options, &context[t], &error), error);
            for (int i = 0; i < TABLES; i++)
                weights[i] = weight_make(&ways[w], tables[i].shape, &seed);
            y[t] = run(context[t], &ways[w], weights, MOST, false, NULL).y;
            for (int i = 0; i < TABLES; i++) {
                free(weights[i].memory);
                free(weights[i].wide.data);
            }
        }
        CHECK(memcmp(y[0].data, y[1].data, MOST * WORDS * sizeof(float)) == 0,
              "%s: other bits with three threads", eg_type_name(ways[w].type));
        for (int t = 0; t < 2; t++) {
            eg_tensor_release(context[t], &y[t]);
            eg_context_destroy(context[t]);
        }
    }
}

/* ---- the definition of what the pass makes is that of what it replaces */
TEST(infile_products, definition) {
    enum { N = 7, K = 64, M = 3, FIRST = 2, COUNT = 4 };
    eg_context *context;
    eg_graph *g;
    eg_error error;
    double w[N * K], x[M * K], index[] = {0, 3, 4, -1}, made[4][4 * K];
    uint64_t seed = 8;
    for (int i = 0; i < N * K; i++) w[i] = test_random(&seed);
    for (int i = 0; i < M * K; i++) x[i] = test_random(&seed);
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node value = eg_input_infile(g, "w", &ways[3], 2, (uint64_t[]){N, K});
    const eg_node leaf = {value.id - 1}, left = eg_input(g, "x", EG_F32, 2, (uint64_t[]){M, K});
    const eg_node at = eg_input(g, "at", EG_I32, 1, (uint64_t[]){4});
    const eg_node rows = eg_slice(g, value, 0, FIRST, COUNT);
    const eg_node outputs[] = {
        eg_matmul_transposed(g, left, 0, rows, 1), eg__infile_matmul(g, left, leaf, FIRST, COUNT),
        eg_gather(g, rows, at), eg__infile_gather(g, leaf, at, FIRST, COUNT)};
    const eg__binding bound[] = {{leaf, w}, {left, x}, {at, index}};
    double *const out[] = {made[0], made[1], made[2], made[3]};
    CHECK_OK(eg__graph_evaluate(g, 3, bound, 4, outputs, out, false, 0, &error), error);
    CHECK(memcmp(made[0], made[1], M * COUNT * sizeof(double)) == 0, "another product");
    CHECK(memcmp(made[2], made[3], 4 * K * sizeof(double)) == 0, "other rows");
    CHECK(made[3][0] == w[FIRST * K] && made[3][2 * K] == 0 && made[3][3 * K] == 0,
          "rows that are not there are zeros");
    /* rows beyond the end, and what is no stored input */
    eg_graph *wrong;
    CHECK_OK(eg_graph_create(context, &wrong, &error), error);
    const eg_node w2 = eg_input_infile(wrong, "w", &ways[1], 2, (uint64_t[]){N, K});
    const eg_node x2 = eg_input(wrong, "x", EG_F32, 2, (uint64_t[]){M, K});
    CHECK(!eg__infile_matmul(wrong, x2, (eg_node){w2.id - 1}, 5, 3).id, "rows beyond the end");
    CHECK_FAILS(eg_graph_check(wrong, &error), error, EG_ERR_ARGUMENT,
                "infile_matmul: rows from 5, 3 of them, are not within the 7 rows");
    eg_graph_destroy(wrong);
    eg_graph_destroy(g);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, const eg_allocator *allocator, eg_error *error) {
    eg_context *context = NULL;
    eg_graph *g = NULL;
    eg_program *program = NULL;
    const eg_context_options options = {.allocator = *allocator, .threads = 1};
    (void)user;
    eg_status status = eg_context_create(&options, &context, error);
    if (!status) status = eg_graph_create(context, &g, error);
    if (!status) {
        const eg_node w = eg_input_infile(g, "w", &ways[5], 2, (uint64_t[]){5, 64});
        const eg_node at = eg_input(g, "at", EG_I32, 1, (uint64_t[]){6});
        const eg_node y = eg_matmul_transposed(g, eg_gather(g, w, at), 0, w, 1);
        status = eg_graph_check(g, error);
        const eg_output output = {"y", eg_silu(g, y)};
        if (!status) status = eg_compile(context, g, 1, &output, NULL, &program, error);
    }
    eg_program_release(program);
    eg_graph_destroy(g);
    eg_context_destroy(context);
    return status;
}
TEST(infile_products, every_allocation) { CHECK(test_every_allocation(attempt, NULL) > 20, "few"); }

/* ---- mistakes */
static void refuse(eg_context *context, const eg_quantization *quantization, unsigned rank,
                   const uint64_t *shape, eg_status status, const char *text) {
    eg_graph *graph;
    eg_error error;
    uint64_t bytes;
    CHECK_OK(eg_graph_create(context, &graph, &error), error);
    CHECK(!eg_input_infile(graph, "w", quantization, rank, shape).id, "'%s' was taken", text);
    CHECK_FAILS(eg_graph_check(graph, &error), error, status, text);
    CHECK_FAILS(eg_infile_bytes(quantization, rank, shape, &bytes, &error), error, status, text);
    eg_graph_destroy(graph);
}

TEST(infile_products, mistakes) {
    eg_context *context;
    eg_graph *graph;
    eg_program *program;
    eg_error error;
    eg_quantized none;
    uint64_t bytes = 0;
    float x[64] = {0};
    const uint64_t shape[] = {3, 64}, odd[] = {3, 63};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    eg_quantization quantization = ways[3];
    refuse(context, NULL, 2, shape, EG_ERR_ARGUMENT, "no quantization");
    refuse(context, &quantization, 2, odd, EG_ERR_ARGUMENT,
           "rows of 63 elements are not a multiple");
    refuse(context, &quantization, 0, NULL, EG_ERR_ARGUMENT,
           "rows of 1 elements are not a multiple");
    quantization.block = 16;
    refuse(context, &quantization, 2, shape, EG_ERR_UNSUPPORTED, "per block of '16'");
    quantization = ways[3];
    quantization.symmetric = 0;
    refuse(context, &quantization, 2, shape, EG_ERR_UNSUPPORTED, "only of symmetric");
    quantization = ways[3];
    quantization.layout = EG_LAYOUT_APART;
    refuse(context, &quantization, 2, shape, EG_ERR_UNSUPPORTED, "'i8' in layout 'apart'");
    quantization.layout = (eg_layout)7;
    refuse(context, &quantization, 2, shape, EG_ERR_ARGUMENT, "unknown layout 7");
    quantization = (eg_quantization){.type = EG_I32};
    refuse(context, &quantization, 2, shape, EG_ERR_UNSUPPORTED, "'i32'");
    CHECK(!eg_layout_name((eg_layout)7) && strcmp(eg_layout_name(EG_LAYOUT_BLOCKS), "blocks") == 0,
          "names of layouts");
    /* scales apart is what all others have */
    CHECK_FAILS(eg_quantize(context, &(eg_tensor){EG_F32, 1, {64}, x}, &ways[3], &none, &error),
                error, EG_ERR_UNSUPPORTED, "layout 'blocks'");
    CHECK_OK(eg_graph_create(context, &graph, &error), error);
    CHECK(!eg_parameter_quantized(graph, "p", &ways[3], 2, shape).id, "a parameter in blocks");
    CHECK_FAILS(eg_graph_check(graph, &error), error, EG_ERR_UNSUPPORTED,
                "parameter 'p': layout 'blocks' is for inputs only, not for parameters");
    eg_graph_destroy(graph);
    CHECK_OK(eg_infile_bytes(&ways[4], 2, shape, &bytes, &error), error);
    CHECK(bytes == 3 * 2 * 18, "%llu bytes", (unsigned long long)bytes);
    CHECK_OK(eg_infile_bytes(&ways[0], 0, NULL, &bytes, &error), error);
    CHECK(bytes == 4, "%llu bytes of one number", (unsigned long long)bytes);
    CHECK_FAILS(eg_infile_bytes(&ways[1], 2, (uint64_t[]){UINT64_MAX / 2, 8}, &bytes, &error),
                error, EG_ERR_OVERFLOW, "");
    /* no C, and nothing but f32 comes out */
    for (size_t w = 0; w < WAYS; w++) {
        CHECK_OK(eg_graph_create(context, &graph, &error), error);
        const eg_node node = eg_input_infile(graph, "w", &ways[w], 2, shape);
        const eg_output output = {"y", eg_matmul_transposed(graph, node, 0, node, 1)};
        CHECK_OK(eg_compile(context, graph, 1, &output, NULL, &program, &error), error);
        CHECK_FAILS(eg_export_c(program, NULL, test_folder(), "stored", NULL, &error), error,
                    EG_ERR_UNSUPPORTED, "no C for");
        eg_program_release(program);
        const eg_output raw = {"y", {node.id - 1}};
        if (ways[w].type != EG_F32)
            CHECK_FAILS(eg_compile(context, graph, 1, &raw, NULL, &program, &error), error,
                        EG_ERR_UNSUPPORTED, "output 'y' has type");
        eg_graph_destroy(graph);
    }
    eg_context_destroy(context);
}
