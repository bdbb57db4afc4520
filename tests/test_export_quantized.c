/* Programs with quantized numbers as plain C: compiled, run, compared with the library, and counted. */
#include "export_run.h"
#include "test.h"
#include "nn/model.h"

AREA(export_quantized, "f16, bf16, int8 and int4 as C99, against the library")

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error;
    eg_context_options options = {.threads = 1};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    return context;
}

/* ---- one product, whose bytes are known: K inputs, N columns */
enum { ROWS = 3, K = 11, N = 7, SCALE = sizeof(float) };
static const struct {
    const char *name;
    eg_quantization quantization;
    uint64_t bytes;
    double size; /* of the weights, which the output is divided by */
} products[] = {
    {"f16", {.type = EG_F16}, 2 * N *K, 1},
    {"f16_tiny", {.type = EG_F16}, 2 * N *K, 1e-6},
    {"f16_large", {.type = EG_F16}, 2 * N *K, 4e4},
    {"bf16", {.type = EG_BF16}, 2 * N *K, 1},
    {"i8", {.type = EG_I8}, N *K + N *(SCALE + 1), 1},
    {"i8_symmetric", {.type = EG_I8, .symmetric = 1}, N *K + N *SCALE, 1},
    {"i8_tensor", {.type = EG_I8, .per = EG_PER_TENSOR}, N *K + SCALE + 1, 1},
    {"i8_block",
     {.type = EG_I8, .per = EG_PER_BLOCK, .block = 4},
     N *K + 3 * N *(SCALE + 1) + 3 * sizeof(int32_t),
     1},
    {"i4", {.type = EG_I4}, N *((K + 1) / 2) + N *(SCALE + 1), 1},
    {"i4_block",
     {.type = EG_I4, .per = EG_PER_BLOCK, .block = 3, .symmetric = 1},
     N *((K + 1) / 2) + 4 * N *SCALE + 4 * sizeof(int32_t),
     1},
    {"i8i8", {.type = EG_I8, .integers = 1}, N *K + N *(SCALE + 1), 1},
    {"i8i8_block",
     {.type = EG_I8, .per = EG_PER_BLOCK, .block = 4, .integers = 1},
     N *K + 3 * N *(SCALE + 1) + 3 * sizeof(int32_t),
     1},
    {"i4i8", {.type = EG_I4, .symmetric = 1, .integers = 1}, N *((K + 1) / 2) + N *SCALE, 1},
    {"i4i8_block",
     {.type = EG_I4, .per = EG_PER_BLOCK, .block = 5, .integers = 1},
     N *((K + 1) / 2) + 3 * N *(SCALE + 1) + 3 * sizeof(int32_t),
     1},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static void set_weights(eg_context *context, eg_weights *weights,
                        const eg_quantization *quantization, double size) {
    float values[N * K];
    uint64_t seed = 3;
    eg_error error;
    eg_quantized small;
    const eg_tensor w = {EG_F32, 2, {N, K}, values};
    for (size_t i = 0; i < N * K; i++)
        values[i] = (float)(size * ((double)test_random(&seed) + 0.3));
    values[1] = 0;
    if (quantization->type == EG_F16) values[2 * K] = -1e9f; /* becomes an infinity */
    CHECK_OK(eg_quantize(context, &w, quantization, &small, &error), error);
    CHECK_OK(eg_weights_set_quantized(weights, "w", &small, &error), error);
    eg_quantized_release(context, &small);
}

static void add_product(exporter *e, eg_context *context, size_t i) {
    const eg_quantization *quantization = &products[i].quantization;
    const double size = products[i].size;
    eg_graph *g;
    eg_program *p;
    eg_weights *weights;
    eg_error error;
    char name[64];
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    const eg_node x = eg_input(g, "x", EG_F32, 2, (uint64_t[]){ROWS, K});
    const eg_node w = eg_parameter_quantized(g, "w", quantization, 2, (uint64_t[]){N, K});
    const eg_node y = eg_mul(g, eg_matmul_transposed(g, x, 0, w, 1), eg_scalar(g, 0.5 / size));
    CHECK_OK(eg_compile(context, g, 1, &(eg_output){"y", y}, NULL, &p, &error), error);
    CHECK_OK(eg_weights_create(p, &weights, &error), error);
    set_weights(context, weights, quantization, size);
    snprintf(name, sizeof name, "product_of_%s%s", products[i].name, e->odd ? "_odd" : "");
    const eg_export_info info = exporter_add_program(e, p, weights, name, -1, 1);
    CHECK(info.weight_bytes == products[i].bytes, "%s: %llu bytes of weights, not %llu", name,
          (unsigned long long)info.weight_bytes, (unsigned long long)products[i].bytes);
    CHECK(!quantization->integers || info.arena_bytes >= K, "%s: no room for a row of int8", name);
    eg_weights_destroy(weights);
    eg_program_release(p);
    eg_graph_destroy(g);
}

/* Also rows that are hard to make int8, which must become what they become in the library. */
TEST(export_quantized, products) {
    static exporter e;
    for (int odd = 0; odd < 2; odd++) {
        if (!exporter_begin(&e, 2e-6)) return;
        e.odd = odd;
        eg_context *context = context_new();
        for (size_t i = 0; i < PRODUCTS; i++) add_product(&e, context, i);
        exporter_end(&e);
        eg_context_destroy(context);
    }
}

/* ---- whole models, fifty steps of a stream */
static const char *const specs[] = {
    "cfc:autoncp:20:4,in=5,seed=1",
    "cfc:autoncp:20:4,in=5,backbone=16x2,seed=1",
    "cfc:9,in=3,backbone=16x2,proj=2/cfc:7",
    "ltc:autoncp:12:2,in=3,seed=2",
    "cfc:6,in=3,mixed=1",
};
enum { SPECS = sizeof specs / sizeof *specs };

static const eg_quantization ways[] = {
    {.type = EG_F16},
    {.type = EG_BF16},
    {.type = EG_I8},
    {.type = EG_I8, .symmetric = 1},
    {.type = EG_I8, .per = EG_PER_TENSOR},
    {.type = EG_I8, .per = EG_PER_BLOCK, .block = 6},
    {.type = EG_I4, .per = EG_PER_BLOCK, .block = 4},
    {.type = EG_I4, .symmetric = 1},
};
static const eg_quantization integers[] = {
    {.type = EG_I8, .integers = 1},
    {.type = EG_I8, .per = EG_PER_BLOCK, .block = 5, .symmetric = 1, .integers = 1},
    {.type = EG_I4, .per = EG_PER_BLOCK, .block = 4, .integers = 1},
};

static void add_model(exporter *e, eg_context *context, const char *spec,
                      const eg_quantization *quantization, const char *name) {
    eg_model *model;
    eg_stream_program *wide, *small;
    eg_weights *weights;
    eg_error error;
    eg_export_info before = {.size = sizeof before};
    const eg_model_quantization all = {.quantization = *quantization};
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_stream_compile(model, &wide, &error), error);
    eg_program *program = eg__stream_program_inner(wide, &weights);
    CHECK_OK(eg_export_c(program, weights, e->folder, "wide", &before, &error), error);
    CHECK_OK(eg_model_quantize(model, &all, &error), error);
    CHECK_OK(eg_stream_compile(model, &small, &error), error);
    program = eg__stream_program_inner(small, &weights);
    const eg_export_info info = exporter_add_program(e, program, weights, name, -1, 1);
    /* what is no product is widened: synapses of an ltc */
    CHECK(spec[0] == 'l' ? info.weight_bytes <= before.weight_bytes
                         : info.weight_bytes < 0.75 * (double)before.weight_bytes,
          "%s, %s: %llu bytes of weights of %llu", spec, name,
          (unsigned long long)info.weight_bytes, (unsigned long long)before.weight_bytes);
    eg_stream_program_destroy(wide);
    eg_stream_program_destroy(small);
    eg_model_destroy(model);
}

static void check_models(const eg_quantization *list, size_t count, double tolerance) {
    static exporter e;
    if (!exporter_begin(&e, tolerance)) return;
    e.runs = 51;
    eg_context *context = context_new();
    for (size_t s = 0; s < SPECS; s++)
        for (size_t w = 0; w < count; w++) {
            char name[64];
            snprintf(name, sizeof name, "model_%zu_%zu_%s%s", s, w, eg_type_name(list[w].type),
                     list[w].integers ? "_integers" : "");
            add_model(&e, context, specs[s], &list[w], name);
        }
    exporter_end(&e);
    eg_context_destroy(context);
}

TEST(export_quantized, models) { check_models(ways, sizeof ways / sizeof *ways, 1e-5); }

/* A last bit more or less before a rounding is a whole step of int8 after it. */
TEST(export_quantized, models_of_integers) {
    check_models(integers, sizeof integers / sizeof *integers, 2e-2);
}

/* ---- a batch of sequences: products outside of scans and inside, of many rows */
TEST(export_quantized, sequences) {
    static const eg_quantization kinds[] = {
        {.type = EG_BF16},
        {.type = EG_I8},
        {.type = EG_I4, .per = EG_PER_BLOCK, .block = 5},
        {.type = EG_I8, .symmetric = 1, .integers = 1},
    };
    const eg_model_options options = {.batch = 3, .time = 5, .batch_first = 1};
    static exporter e;
    if (!exporter_begin(&e, 1e-2)) return; /* of integers; for the others see models */
    eg_context *context = context_new();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        eg_model *model;
        eg_graph *g;
        eg_program *p;
        eg_weights *weights;
        eg_model_nodes nodes;
        eg_error error;
        char name[64];
        const eg_model_quantization all = {.quantization = kinds[i]};
        CHECK_OK(eg_model_open(context, "cfc:9,in=4,proj=2,seed=3", &model, &error), error);
        CHECK_OK(eg_model_quantize(model, &all, &error), error);
        CHECK_OK(eg_graph_create(context, &g, &error), error);
        CHECK_OK(eg_model_build(model, g, &options, &nodes, &error), error);
        CHECK_OK(eg_compile(context, g, 1, &(eg_output){"y", nodes.y}, NULL, &p, &error), error);
        CHECK_OK(eg_weights_create(p, &weights, &error), error);
        CHECK_OK(eg_model_weights(model, weights, &error), error);
        snprintf(name, sizeof name, "sequence_%zu", i);
        exporter_add_program(&e, p, weights, name, -1, 1);
        eg_weights_destroy(weights);
        eg_program_release(p);
        eg_graph_destroy(g);
        eg_model_destroy(model);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}

/* ---- one of a real size; `make check-export` prints what becomes of it on a microcontroller */
TEST(export_quantized, cfc) {
    static const struct {
        const char *name;
        eg_quantization quantization;
    } kinds[] = {{"cfc_f32", {.type = EG_F32}},
                 {"cfc_f16", {.type = EG_F16}},
                 {"cfc_int8", {.type = EG_I8}},
                 {"cfc_int8_integers", {.type = EG_I8, .integers = 1}},
                 {"cfc_int4", {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32}}};
    static exporter e;
    if (!exporter_begin(&e, 2e-2)) return;
    eg_context *context = context_new();
    uint64_t bytes = UINT64_MAX;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        eg_model *model;
        eg_stream_program *stream;
        eg_weights *weights;
        eg_error error;
        const eg_model_quantization all = {.quantization = kinds[i].quantization};
        CHECK_OK(eg_model_open(context, "cfc:64,in=16,backbone=128,proj=4,seed=1", &model, &error),
                 error);
        if (i) CHECK_OK(eg_model_quantize(model, &all, &error), error);
        CHECK_OK(eg_stream_compile(model, &stream, &error), error);
        eg_program *program = eg__stream_program_inner(stream, &weights);
        const eg_export_info info =
            exporter_add_program(&e, program, weights, kinds[i].name, -1, 1);
        CHECK(info.weight_bytes <= bytes, "%s: %llu bytes of weights", kinds[i].name,
              (unsigned long long)info.weight_bytes);
        bytes = info.weight_bytes;
        eg_stream_program_destroy(stream);
        eg_model_destroy(model);
    }
    exporter_end(&e);
    eg_context_destroy(context);
}
