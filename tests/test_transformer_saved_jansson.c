/* Transformers saved and opened again, in f32 and in quantized numbers: the same bits. */
#include "test_transformer.h"

#include <math.h>

AREA(transformer_saved, "transformers saved, quantized and opened again: the same bits")

enum { TOKENS = 13 };

static float *rows_of(eg_context *context, eg_model *model, int in_place, size_t *count) {
    uint32_t tokens[TOKENS];
    eg_model_info info = {.size = sizeof info};
    for (uint32_t i = 0; i < TOKENS; i++) tokens[i] = (i * 37 + 11) % 100;
    eg_model_info_get(model, &info);
    *count = TOKENS * (size_t)info.outputs;
    return transformer_rows(context, model, tokens, TOKENS, in_place, 0);
}

static double spread(const float *a, const float *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= worst))
            worst = fabs((double)a[i] - (double)b[i]);
    return worst;
}

/* From memory to a file and back. */
static void check_same(eg_context *context, eg_model *model, const char *name) {
    eg_error error;
    eg_model *again = NULL;
    eg_transformer_info before = {.size = sizeof before}, after = {.size = sizeof after};
    char path[600];
    size_t count, other = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", test_folder());
    CHECK_OK(eg_model_save(model, path, &error), error);
    CHECK_OK(eg_model_open(context, path, &again, &error), error);
    if (!again) return;
    CHECK_OK(eg_model_transformer(model, &before, &error), error);
    CHECK_OK(eg_model_transformer(again, &after, &error), error);
    CHECK(strcmp(before.family, after.family) == 0 && before.layers == after.layers &&
              before.context == after.context && before.tied == after.tied &&
              before.epsilon == after.epsilon && before.rope_base == after.rope_base &&
              before.pooling == after.pooling,
          "%s: another architecture", name);
    float *a = rows_of(context, model, 0, &count), *b = rows_of(context, again, 0, &other);
    CHECK(count == other && memcmp(a, b, count * sizeof *a) == 0, "%s: off by %g", name,
          spread(a, b, count));
    /* where they lie in the file, other kernels multiply them */
    float *c = rows_of(context, again, 1, &other);
    CHECK(spread(a, c, count) <= 1e-4, "%s in place: off by %g", name, spread(a, c, count));
    free(a);
    free(b);
    free(c);
    eg_model_destroy(again);
}

static const struct {
    const char *name;
    eg_quantization quantization;
    double most; /* of the largest output, that outputs may move */
} ways[] = {{"int8", {.type = EG_I8, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1}, 0.08},
            {"int8 with zero points", {.type = EG_I8, .per = EG_PER_BLOCK, .block = 32}, 0.05},
            {"int8 of integers",
             {.type = EG_I8, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1, .integers = 1},
             0.1},
            {"int4", {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .symmetric = 1}, 0.9},
            {"int4 with zero points", {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32}, 0.6},
            {"f16", {.type = EG_F16}, 0.005},
            {"bf16", {.type = EG_BF16}, 0.05}};

static void check_model(const char *file) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    char path[512], name[128];
    const char *from = strchr(file, ':') ? file : transformer_path(file, path);
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, from, &model, &error), error);
    size_t count = 0;
    float *exact = rows_of(context, model, 1, &count);
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)exact[i]));
    CHECK_OK(eg_model_widen(model, &error), error);
    check_same(context, model, file);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const eg_model_quantization quantization = {.quantization = ways[i].quantization};
        eg_model *small;
        CHECK_OK(eg_model_open(context, from, &small, &error), error);
        CHECK_OK(eg_model_quantize(small, &quantization, &error), error);
        snprintf(name, sizeof name, "%s, %s", file, ways[i].name);
        float *rows = rows_of(context, small, 1, &count);
        const double off = spread(rows, exact, count);
        CHECK(off > 0 && off <= ways[i].most * most, "%s: off by %g of %g", name, off, most);
        check_same(context, small, name);
        free(rows);
        eg_model_destroy(small);
    }
    free(exact);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(transformer_saved, specs) {
    check_model("llama:2:64,heads=4,kv=2,vocab=100,context=64,seed=2");
    check_model("gpt2:2:64,heads=4,vocab=100,context=64,seed=2");
    check_model("bert:2:64,heads=4,vocab=100,context=64,seed=2");
}

TEST(transformer_saved, files) {
    check_model("llama.gguf");
    check_model("llama_tied.gguf");
    check_model("llama.bin");
    check_model("bert.gguf");
}

/* An architecture in a file must not ask for more memory than the file can fill. */
TEST(transformer_saved, more_than_the_file) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 26};
    char path[600];
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    CHECK_OK(eg_model_open(context, "llama:1:64,vocab=100,context=64", &model, &error), error);
    snprintf(path, sizeof path, "%s/model.safetensors", test_folder());
    CHECK_OK(eg_model_save(model, path, &error), error);
    eg_model_destroy(model);
    static const char *const configs[] = {
        "{\"elegans_model\": 1, \"transformer\": {\"family\": \"llama\", \"pooling\": \"mean\", "
        "\"layers\": 1, \"width\": 65536, \"heads\": 16, \"kv_heads\": 16, \"head\": 4096, "
        "\"hidden\": 65536, \"vocabulary\": 4000000, \"context\": 64, \"types\": 1, \"window\": 0, "
        "\"epsilon\": 1e-5, \"rope_base\": 10000, \"dropout\": 0}}"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        CHECK_FAILS(eg_model_load(context, path, configs[i], &model, &error), error, EG_ERR_FORMAT,
                    "values");
        CHECK(!model, "a model of config %zu", i);
    }
    eg_context_destroy(context);
}
