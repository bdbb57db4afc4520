/* Text token by token: the same as when all tokens are looked at together, however they come. */
#include "test_transformer.h"

#include <math.h>

AREA(generator,
     "tokens through a cache: torch's choices, the rows without a cache, every chunk size")

enum { TOKENS = 40 };

static void some_tokens(uint32_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = (uint32_t)((i * i * 7 + i * 37 + 11) % 100);
}

static double largest(const float *values, size_t count) {
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)values[i]));
    return most;
}

static double difference(const float *a, const float *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= worst))
            worst = fabs((double)a[i] - (double)b[i]);
    return worst;
}

static eg_context *open_context(const eg_context_options *options) {
    eg_error error;
    eg_context *context;
    CHECK_OK(eg_context_create(options, &context, &error), error);
    return context;
}

static eg_model *open_model(eg_context *context, const char *name) {
    eg_error error;
    eg_model *model;
    char path[512];
    CHECK_OK(eg_model_open(context, strchr(name, ':') ? name : transformer_path(name, path), &model,
                           &error),
             error);
    return model;
}

/* ---- torch's choices */

/* The second choice is at least 0.03 behind, more than halves in the cache move a logit. */
TEST(generator, golden) {
    static const eg_type caches[] = {EG_F32, EG_F16};
    for (int i = 0; i < 2; i++) {
        check_choices("llama.gguf", "llama", caches[i]);
        check_choices("llama.bin", "llama", caches[i]);
        check_choices("llama_tied.gguf", "llama_tied", caches[i]);
        check_choices("gpt2.gguf", "gpt2", caches[i]);
    }
}

/* ---- with a cache and without */
typedef struct beside {
    const char *name;
    eg_generator *g;
    const uint32_t *tokens;
    const float *rows; /* without a cache */
    uint64_t vocabulary;
    double tolerance;
} beside;

/* From `from` on, `step` tokens at a time. */
static void feed_all(beside *b, size_t from, size_t step) {
    eg_error error;
    const float *logits = NULL;
    for (size_t at = from; at < TOKENS;) {
        const size_t part = eg__min(step, TOKENS - at);
        CHECK_OK(eg_generator_feed(b->g, b->tokens + at, part, &logits, &error), error);
        at += part;
        if (!logits) return;
        const double off =
            difference(logits, b->rows + (at - 1) * b->vocabulary, (size_t)b->vocabulary);
        CHECK(off <= b->tolerance, "%s: %zu tokens in steps of %zu from %zu: off by %g of %g",
              b->name, at, step, from, off, b->tolerance);
    }
}

/* What a cache rounds away, of all keys and values of each layer: relative to the largest of a row, half a
 * step. Logits move by about as much of their size; twice that is the bound. */
static double rounding(eg_type cache, double layers) {
    const double unit = cache == EG_F16 ? 0x1p-11 : cache == EG_I8 ? 1.0 / 254 : 0;
    return 2 * 2 * layers * unit;
}

/* All steps or some: a small cache differs in how numbers are kept, an emulator in how they are computed. */
static bool is_tried(size_t step, int own, eg_type cache) {
    if (test_emulated()) return step % 5 == 2 && (!own || (step == 7 && cache == EG_F32));
    if (own && test_quick() && step % 5) return false;
    return cache == EG_F32 || step % 5 == 2;
}

static void check_cached(const char *name, eg_type cache, double tolerance) {
    eg_error error;
    eg_context *context = open_context(NULL);
    eg_model *model = open_model(context, name);
    uint32_t tokens[TOKENS];
    eg_transformer_info info = {.size = sizeof info};
    some_tokens(tokens, TOKENS);
    CHECK_OK(eg_model_transformer(model, &info, &error), error);
    float *rows = transformer_rows(context, model, tokens, TOKENS, 1, 0);
    const double most = fmax(1, largest(rows, TOKENS * (size_t)info.vocabulary));
    beside b = {.name = name, .tokens = tokens, .rows = rows, .vocabulary = info.vocabulary};
    b.tolerance = most * (tolerance + rounding(cache, (double)info.layers));
    for (size_t step = 1; step <= 17; step++)
        for (int own = 0; own < 2; own++) { /* chunks of the same size, and those of every prompt */
            if (!is_tried(step, own, cache)) continue;
            const eg_generator_options options = {.chunk = own ? step : 0, .cache = cache};
            CHECK_OK(eg_generator_create(model, &options, &b.g, &error), error);
            feed_all(&b, 0, step);
            CHECK_OK(eg_generator_rewind(b.g, 5 + step, &error), error);
            feed_all(&b, 5 + step, 18 - step);
            CHECK_OK(eg_generator_rewind(b.g, 0, &error), error);
            feed_all(&b, 0, 13);
            eg_generator_destroy(b.g);
        }
    free(rows);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static const char *const files[] = {"llama.gguf",
                                    "llama.bin",
                                    "llama_tied.gguf",
                                    "llama_f16.gguf",
                                    "gpt2.gguf",
                                    "llama:2:64,heads=4,kv=2,vocab=100,context=64,seed=3",
                                    "llama:1:64,heads=4,vocab=100,context=64,window=7,tied=1",
                                    "gpt2:2:64,heads=4,vocab=100,context=64,seed=5"};

TEST(generator, as_without_a_cache) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) check_cached(files[i], EG_F32, 1e-5);
}

TEST(generator, small_caches) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i += test_emulated() ? 3 : 1) {
        check_cached(files[i], EG_F16, 1e-5);
        check_cached(files[i], EG_I8, 1e-5);
    }
}

/* Rows that meet blocks become int8: a last bit of a float may move one of them by a step. */
TEST(generator, blocks) {
    check_cached("llama_q8_0.gguf", EG_F32, 0.02);
    check_cached("llama_q4_0.gguf", EG_F32, 0.02);
}

/* ---- threads */
TEST(generator, threads) {
    static const char *const models[] = {"llama.gguf", "llama_q4_0.gguf", "gpt2.gguf",
                                         "llama:2:128,heads=4,kv=2,vocab=300,context=64,seed=3"};
    eg_error error;
    uint32_t tokens[TOKENS];
    some_tokens(tokens, TOKENS);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        float *first = NULL;
        for (unsigned threads = 1; threads <= 2; threads++) {
            const eg_context_options options = {.threads = threads};
            eg_context *context = open_context(&options);
            eg_model *model = open_model(context, models[m]);
            eg_generator *g;
            eg_generator_info info = {.size = sizeof info};
            const float *logits = NULL;
            CHECK_OK(eg_generator_create(model, NULL, &g, &error), error);
            eg_generator_info_get(g, &info);
            const size_t size = (size_t)info.vocabulary;
            float *all = test_alloc(TOKENS * size * sizeof *all);
            CHECK_OK(eg_generator_feed(g, tokens, 21, &logits, &error), error);
            for (size_t i = 21; i < TOKENS; i++) {
                CHECK_OK(eg_generator_feed(g, tokens + i, 1, &logits, &error), error);
                memcpy(all + (i - 21) * size, logits, size * sizeof *all);
            }
            if (first)
                CHECK(memcmp(first, all, (TOKENS - 21) * size * sizeof *all) == 0,
                      "%s: other bits with 2 threads", models[m]);
            if (first) free(all);
            else first = all;
            eg_generator_destroy(g);
            eg_model_destroy(model);
            eg_context_destroy(context);
        }
        free(first);
    }
}

/* ---- mistakes */
TEST(generator, mistakes) {
    eg_error error = {0};
    eg_context *context = open_context(NULL);
    eg_model *model = open_model(context, "llama:1:64,vocab=100,context=64");
    eg_model *encoder = open_model(context, "bert:1:64,vocab=100,context=64");
    eg_model *learned = open_model(context, "gpt2:1:64,vocab=100,context=64");
    eg_generator *g = NULL;
    eg_generator_info info = {.size = sizeof info};
    const float *logits = NULL;
    uint32_t tokens[TOKENS];
    some_tokens(tokens, TOKENS);
    CHECK_FAILS(eg_generator_create(encoder, NULL, &g, &error), error, EG_ERR_ARGUMENT, "encoder");
    CHECK(!g, "a generator of an encoder");
    CHECK_FAILS(eg_generator_create(model, &(eg_generator_options){.cache = EG_BF16}, &g, &error),
                error, EG_ERR_ARGUMENT, "a cache of bf16");
    CHECK_FAILS(eg_generator_create(learned, &(eg_generator_options){.context = 65}, &g, &error),
                error, EG_ERR_ARGUMENT, "65");
    CHECK_OK(eg_generator_create(model, &(eg_generator_options){.context = 16}, &g, &error), error);
    CHECK_FAILS(eg_generator_feed(g, tokens, 0, &logits, &error), error, EG_ERR_ARGUMENT,
                "no tokens");
    CHECK_FAILS(eg_generator_feed(g, tokens, 17, &logits, &error), error, EG_ERR_BUDGET,
                "0 of 16 tokens, 17 more");
    CHECK_OK(eg_generator_feed(g, tokens, 10, &logits, &error), error);
    float before[100], after[100];
    memcpy(before, logits, sizeof before);
    const uint32_t unknown[] = {1, 100, 2};
    CHECK_FAILS(eg_generator_feed(g, unknown, 3, &logits, &error), error, EG_ERR_ARGUMENT,
                "token 100 at position 1 is not below the vocabulary size 100");
    CHECK_FAILS(eg_generator_feed(g, tokens, 7, &logits, &error), error, EG_ERR_BUDGET,
                "10 of 16 tokens, 7 more");
    CHECK_FAILS(eg_generator_rewind(g, 11, &error), error, EG_ERR_ARGUMENT,
                "cannot go back to 11 tokens: there are 10");
    eg_generator_info_get(g, &info);
    CHECK(info.length == 10 && info.context == 16, "%llu of %llu", (unsigned long long)info.length,
          (unsigned long long)info.context);
    CHECK(memcmp(before, logits, sizeof before) == 0, "the logits have changed");
    CHECK_OK(eg_generator_feed(g, tokens + 10, 6, &logits, &error), error);
    memcpy(after, logits, sizeof after);
    CHECK_FAILS(eg_generator_feed(g, tokens, 1, &logits, &error), error, EG_ERR_BUDGET,
                "16 of 16 tokens, 1 more");
    /* as if there had been no mistakes */
    CHECK_OK(eg_generator_rewind(g, 0, &error), error);
    CHECK_OK(eg_generator_feed(g, tokens, 10, NULL, &error), error);
    CHECK_OK(eg_generator_feed(g, tokens + 10, 6, &logits, &error), error);
    CHECK(memcmp(after, logits, sizeof after) == 0, "a mistake has changed something");
    eg_generator_destroy(g);
    eg_generator_destroy(NULL);
    eg_model_destroy(learned);
    eg_model_destroy(encoder);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* ---- memory */
static uint64_t cache_now(eg_context *context) {
    eg_memory_figures held = {0};
    eg_error error;
    CHECK_OK(eg_memory_query(context, EG_TAG_CACHE, &held, &error), error);
    return held.current;
}

TEST(generator, budget) {
    const eg_context_options options = {.threads = 1, .memory_budget = UINT64_C(1) << 25};
    eg_error error;
    eg_context *context = open_context(&options);
    eg_model *model = open_model(context, "llama.bin");
    eg_generator *g = NULL;
    eg_generator_info info = {.size = sizeof info};
    const uint32_t token = 1;
    /* 2 layers, keys and values, 2 heads of 8 columns */
    const uint64_t per_token = 2 * 2 * 2 * 8 * 4;
    CHECK_OK(eg_generator_create(model, &(eg_generator_options){.context = 1024}, &g, &error),
             error);
    eg_generator_info_get(g, &info);
    CHECK(info.cache_bytes == 1024 * per_token && info.token_bytes == per_token, "%llu, %llu",
          (unsigned long long)info.cache_bytes, (unsigned long long)info.token_bytes);
    CHECK(cache_now(context) >= info.cache_bytes &&
              cache_now(context) <= info.cache_bytes + 64 * 1024,
          "%llu bytes are counted for a cache of %llu", (unsigned long long)cache_now(context),
          (unsigned long long)info.cache_bytes);
    eg_generator_destroy(g);
    CHECK(cache_now(context) == 0, "%llu bytes of a cache are left",
          (unsigned long long)cache_now(context));
    CHECK_FAILS(eg_generator_create(model, &(eg_generator_options){.context = 1 << 18}, &g, &error),
                error, EG_ERR_BUDGET, "budget");
    CHECK(!g && cache_now(context) == 0, "something is left of a cache that did not fit");
    CHECK_OK(eg_generator_create(model, &(eg_generator_options){.context = 1 << 16}, &g, &error),
             error);
    CHECK_OK(eg_generator_feed(g, &token, 1, NULL, &error), error);
    eg_generator_destroy(g);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

/* What was prepared is there: no token takes memory. */
TEST(generator, prepared) {
    eg_error error;
    eg_context *context = open_context(NULL);
    eg_model *model = open_model(context, "llama.gguf");
    eg_generator *g;
    uint32_t tokens[TOKENS];
    eg_memory_figures before, after;
    some_tokens(tokens, TOKENS);
    CHECK_OK(eg_generator_create(model, &(eg_generator_options){.chunk = 32}, &g, &error), error);
    CHECK_OK(eg_generator_prepare(g, TOKENS, &error), error);
    CHECK_OK(eg_generator_prepare(g, 0, &error), error);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &before, &error), error);
    CHECK_OK(eg_generator_feed(g, tokens, TOKENS, NULL, &error), error);
    for (int i = 0; i < 8; i++) CHECK_OK(eg_generator_feed(g, tokens, 1, NULL, &error), error);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &after, &error), error);
    CHECK(after.allocations == before.allocations, "%llu blocks were taken",
          (unsigned long long)(after.allocations - before.allocations));
    CHECK_OK(eg_generator_feed(g, tokens, 7, NULL, &error), error);
    eg_generator_destroy(g);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

static eg_status open_and_generate(void *user, eg_context *context, eg_error *error) {
    char path[512];
    const char *name = user;
    const uint32_t tokens[] = {1, 2, 3, 4, 5};
    const eg_sampling sampling = {.temperature = 1, .top_k = 5, .seed = 1};
    const float *logits;
    eg_model *model = NULL;
    eg_generator *g = NULL;
    eg_sampler *sampler = NULL;
    uint32_t token;
    eg_status status = eg_model_open(
        context, strchr(name, ':') ? name : transformer_path(name, path), &model, error);
    if (!status) status = eg_generator_create(model, NULL, &g, error);
    if (!status) status = eg_sampler_create(context, 8, &sampling, &sampler, error);
    if (!status) status = eg_generator_feed(g, tokens, 5, &logits, error);
    if (!status) status = eg_sampler_next(sampler, logits, &token, error);
    if (!status) status = eg_generator_feed(g, &token, 1, &logits, error);
    eg_sampler_destroy(sampler);
    eg_generator_destroy(g);
    eg_model_destroy(model);
    return status;
}

TEST(generator, every_allocation) {
    static const char *const models[] = {"llama:1:64,vocab=8,context=16", "llama_q4_0.gguf",
                                         "llama.bin"};
    const size_t count = test_quick() ? 1 : sizeof models / sizeof *models;
    for (size_t i = 0; i < count; i++) {
        const int failed =
            test_every_allocation_within(open_and_generate, (void *)(uintptr_t)models[i]);
        CHECK(failed > 20, "%s: only %d allocations", models[i], failed);
    }
}
