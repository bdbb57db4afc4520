/* Texts as rows and how surprising they are: torch's numbers, and those of the rows without any of it. */
#include "test_transformer.h"

#include <math.h>

AREA(embedder, "texts as rows: torch's, pooled in every way, whatever fills them up")
AREA(perplexity, "how surprising a text is, against a direct computation")

enum { WIDTH = 64, TOKENS = 40 };

typedef struct setting {
    eg_context *context;
    eg_model *model;
} setting;

static setting open_setting(const char *name) {
    setting s;
    eg_error error;
    char path[512];
    CHECK_OK(eg_context_create(NULL, &s.context, &error), error);
    CHECK_OK(eg_model_open(s.context, strchr(name, ':') ? name : transformer_path(name, path),
                           &s.model, &error),
             error);
    return s;
}

static void close_setting(setting *s) {
    eg_model_destroy(s->model);
    eg_context_destroy(s->context);
}

static void some_tokens(uint32_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) out[i] = (uint32_t)((i * i * 7 + i * 37 + 11) % 100);
}

static double difference(const float *a, const float *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= worst))
            worst = fabs((double)a[i] - (double)b[i]);
    return worst;
}

static void embed(setting *s, const eg_embedder_options *options, const uint32_t *tokens,
                  size_t count, float *row) {
    eg_error error;
    eg_embedder *e;
    CHECK_OK(eg_embedder_create(s->model, options, &e, &error), error);
    CHECK_OK(eg_embedder_run(e, tokens, count, row, &error), error);
    eg_embedder_destroy(e);
}

/* Both samples, of 17 and 11 tokens, through one embedder. */
TEST(embedder, golden) {
    setting s = open_setting("bert.gguf");
    eg_error error;
    eg_embedder *e, *plain;
    eg_tensor ids, lengths, mean, states;
    transformer_expected(s.context, "bert", "ids", &ids);
    transformer_expected(s.context, "bert", "lengths", &lengths);
    transformer_expected(s.context, "bert", "mean", &mean);
    transformer_expected(s.context, "bert", "last_hidden_state", &states);
    CHECK_OK(eg_embedder_create(s.model, NULL, &e, &error), error);
    CHECK_OK(eg_embedder_create(s.model, &(eg_embedder_options){.unscaled = 1}, &plain, &error),
             error);
    for (size_t b = 0; b < 2; b++) {
        uint32_t tokens[17];
        float row[WIDTH], unscaled[WIDTH], sums[WIDTH];
        const size_t count = (size_t)((const int32_t *)lengths.data)[b];
        const float *y = (const float *)states.data + b * 17 * WIDTH;
        for (size_t i = 0; i < 17; i++)
            tokens[i] = (uint32_t)((const int32_t *)ids.data)[b * 17 + i];
        CHECK_OK(eg_embedder_run(e, tokens, count, row, &error), error);
        CHECK_OK(eg_embedder_run(plain, tokens, count, unscaled, &error), error);
        for (size_t k = 0; k < WIDTH; k++) {
            double sum = 0;
            for (size_t i = 0; i < count; i++) sum += (double)y[i * WIDTH + k];
            sums[k] = (float)(sum / (double)count);
        }
        const double off = difference(row, (const float *)mean.data + b * WIDTH, WIDTH);
        CHECK(off <= 1e-5, "sample %zu of %zu tokens: off by %g", b, count, off);
        CHECK(difference(unscaled, sums, WIDTH) <= 1e-4, "sample %zu unscaled: off by %g", b,
              difference(unscaled, sums, WIDTH));
    }
    eg_embedder_destroy(e);
    eg_embedder_destroy(plain);
    eg_tensor_release(s.context, &ids);
    eg_tensor_release(s.context, &lengths);
    eg_tensor_release(s.context, &mean);
    eg_tensor_release(s.context, &states);
    close_setting(&s);
}

/* Texts of every length: those that fill a program up and those that do not. */
static void check_poolings(const char *name) {
    static const size_t counts[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 40};
    setting s = open_setting(name);
    uint32_t tokens[TOKENS];
    some_tokens(tokens, TOKENS);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const size_t count = counts[c];
        if (test_emulated() && c % 4) continue;
        float *y = transformer_rows(s.context, s.model, tokens, count, 1, 1);
        for (int pooling = EG_POOLING_MEAN; pooling <= EG_POOLING_LAST; pooling++) {
            float row[WIDTH], expected[WIDTH];
            for (size_t k = 0; k < WIDTH; k++) {
                double sum = 0;
                for (size_t i = 0; i < count; i++) sum += (double)y[i * WIDTH + k];
                expected[k] = pooling == EG_POOLING_FIRST  ? y[k]
                              : pooling == EG_POOLING_LAST ? y[(count - 1) * WIDTH + k]
                                                           : (float)(sum / (double)count);
            }
            const eg_embedder_options options = {
                .pooled = 1, .pooling = (eg_pooling)pooling, .unscaled = 1};
            embed(&s, &options, tokens, count, row);
            CHECK(difference(row, expected, WIDTH) <= 2e-5, "%s: %zu tokens, pooling %d: off by %g",
                  name, count, pooling, difference(row, expected, WIDTH));
            double square = 0;
            embed(&s, &(eg_embedder_options){.pooled = 1, .pooling = (eg_pooling)pooling}, tokens,
                  count, row);
            for (size_t k = 0; k < WIDTH; k++) square += (double)row[k] * (double)row[k];
            CHECK(fabs(square - 1) < 1e-5, "%s: a length of %g", name, sqrt(square));
        }
        free(y);
    }
    close_setting(&s);
}

TEST(embedder, poolings) {
    check_poolings("bert.gguf");
    check_poolings("llama.gguf");
    check_poolings("bert:1:64,heads=4,vocab=100,context=40");
    check_poolings("gpt2:1:64,heads=4,vocab=100,context=64");
}

static eg_status open_and_embed(void *user, eg_context *context, eg_error *error) {
    const uint32_t tokens[] = {1, 2, 3, 4, 5};
    float row[WIDTH];
    eg_model *model = NULL;
    eg_embedder *e = NULL;
    eg_surprise out;
    eg_status status = eg_model_open(context, user, &model, error);
    if (!status) status = eg_embedder_create(model, NULL, &e, error);
    if (!status) status = eg_embedder_run(e, tokens, 5, row, error);
    if (!status && strncmp(user, "bert", 4) != 0)
        status = eg_perplexity(model, tokens, 5, 0, -1, NULL, NULL, &out, error);
    eg_embedder_destroy(e);
    eg_model_destroy(model);
    return status;
}

TEST(embedder, mistakes) {
    setting s = open_setting("bert:1:64,vocab=100,context=40"), liquid = open_setting("cfc:4,in=1");
    eg_error error;
    eg_embedder *e = NULL;
    uint32_t tokens[TOKENS + 1] = {0};
    float row[WIDTH];
    CHECK_FAILS(eg_embedder_create(liquid.model, NULL, &e, &error), error, EG_ERR_ARGUMENT,
                "liquid");
    CHECK(!e, "an embedder of a liquid network");
    CHECK_OK(eg_embedder_create(s.model, NULL, &e, &error), error);
    CHECK_FAILS(eg_embedder_run(e, tokens, 0, row, &error), error, EG_ERR_ARGUMENT, "tokens");
    CHECK_FAILS(eg_embedder_run(e, tokens, TOKENS + 1, row, &error), error, EG_ERR_ARGUMENT,
                "41 tokens exceed the model's context of 40");
    tokens[3] = 100;
    CHECK_FAILS(eg_embedder_run(e, tokens, 5, row, &error), error, EG_ERR_ARGUMENT,
                "token 100 at position 3 is not below the vocabulary size 100");
    tokens[3] = 99;
    CHECK_OK(eg_embedder_run(e, tokens, TOKENS, row, &error), error);
    eg_embedder_destroy(e);
    eg_embedder_destroy(NULL);
    close_setting(&s);
    close_setting(&liquid);
    CHECK(test_every_allocation_within(open_and_embed, "bert:1:64,vocab=8,context=16") > 20, "few");
    CHECK(test_every_allocation_within(open_and_embed, "llama:1:64,vocab=8,context=16") > 20,
          "few");
}

/* ---- perplexity */
typedef struct sums {
    double bits, squares;
    uint64_t count;
} sums;

static void add_piece(setting *s, const uint32_t *tokens, size_t piece, int64_t begin, sums *out) {
    uint32_t given[TOKENS];
    eg_transformer_info info = {.size = sizeof info};
    eg_error error;
    CHECK_OK(eg_model_transformer(s->model, &info, &error), error);
    memcpy(given, tokens, piece * sizeof *given);
    if (begin >= 0) given[0] = (uint32_t)begin;
    float *y = transformer_rows(s->context, s->model, given, piece, 1, 0);
    for (size_t i = piece / 2 + 1; i < piece; i++) {
        const float *row = y + (i - 1) * info.vocabulary;
        double sum = 0;
        for (uint64_t k = 0; k < info.vocabulary; k++) sum += exp((double)row[k]);
        const double bits = -log2(exp((double)row[tokens[i]]) / sum);
        out->bits += bits;
        out->squares += bits * bits;
        out->count++;
    }
    free(y);
}

static int stop_now(void *user, const eg_surprise *now) {
    ++*(int *)user;
    return now->tokens > 0;
}

TEST(perplexity, direct) {
    static const char *const models[] = {"llama.gguf", "gpt2.gguf",
                                         "llama:1:64,heads=4,vocab=100,context=64"};
    static const struct {
        size_t count;
        uint64_t piece;
        int64_t begin;
        size_t used; /* the length of a piece */
    } rows[] = {{40, 0, -1, 40}, {40, 8, -1, 8}, {40, 8, 1, 8},  {39, 8, 1, 8},  {40, 9, 0, 9},
                {7, 16, -1, 7},  {3, 0, -1, 3},  {40, 3, 99, 3}, {40, 64, 5, 40}};
    uint32_t tokens[TOKENS];
    some_tokens(tokens, TOKENS);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        setting s = open_setting(models[m]);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            eg_error error;
            eg_surprise got = {0};
            sums all = {0};
            CHECK_OK(eg_perplexity(s.model, tokens, rows[i].count, rows[i].piece, rows[i].begin,
                                   NULL, NULL, &got, &error),
                     error);
            for (size_t at = 0; at + rows[i].used <= rows[i].count; at += rows[i].used)
                add_piece(&s, tokens + at, rows[i].used, rows[i].begin, &all);
            const double n = (double)all.count, mean = all.bits / n;
            const double deviation =
                n > 1 ? sqrt(fmax(0, (all.squares / n - mean * mean) / (n - 1))) : 0;
            CHECK(got.tokens == all.count && fabs(got.bits - mean) < 1e-4 &&
                      fabs(got.deviation - deviation) < 1e-3,
                  "%s row %zu: %llu tokens, %g bits +- %g; not %llu, %g, %g", models[m], i,
                  (unsigned long long)got.tokens, got.bits, got.deviation,
                  (unsigned long long)all.count, mean, deviation);
        }
        close_setting(&s);
    }
}

TEST(perplexity, mistakes) {
    setting s = open_setting("llama.bin"), encoder = open_setting("bert.gguf");
    eg_error error;
    eg_surprise got;
    uint32_t tokens[TOKENS];
    int calls = 0;
    some_tokens(tokens, TOKENS);
#define FAILS(model, count, piece, begin, part)                                              \
    CHECK_FAILS(eg_perplexity(model, tokens, count, piece, begin, NULL, NULL, &got, &error), \
                error, EG_ERR_ARGUMENT, part)
    FAILS(encoder.model, 40, 0, -1, "no decoder");
    FAILS(s.model, 0, 0, -1, "0 tokens are too few");
    FAILS(s.model, 2, 0, -1, "2 tokens are too few");
    FAILS(s.model, 40, 1, -1, "pieces of 1 tokens are too short");
    FAILS(s.model, 40, 2, -1, "pieces of 2 tokens are too short");
    FAILS(s.model, 40, 65, -1, "pieces of 65 tokens exceed the model's context of 64");
    FAILS(s.model, 40, 8, 100, "begin token 100");
    tokens[39] = 100;
    FAILS(s.model, 40, 8, 1, "token 100 at position 39 is not below the vocabulary size 100");
#undef FAILS
    CHECK_OK(eg_perplexity(s.model, tokens, 39, 8, -1, stop_now, &calls, &got, &error), error);
    CHECK(calls == 1 && got.tokens == 3, "%d calls, %llu tokens", calls,
          (unsigned long long)got.tokens);
    close_setting(&s);
    close_setting(&encoder);
}
