/* Several texts in one cache: forked, rewound, with windows; new models of every kind through it. */
#include "test_transformer.h"

#include <math.h>

AREA(generator_texts,
     "texts that share a cache, windows, positions of every kind: as without a cache")

enum { TOKENS = 150, VOCABULARY = 256 };

typedef struct bench {
    eg_context *context;
    eg_model *model;
    uint32_t tokens[TOKENS];
} bench;

static void open_bench(bench *b, const char *spec) {
    eg_error error;
    uint64_t state = 3;
    CHECK_OK(eg_context_create(NULL, &b->context, &error), error);
    CHECK_OK(eg_model_open(b->context, spec, &b->model, &error), error);
    for (int i = 0; i < TOKENS; i++)
        b->tokens[i] = (uint32_t)((test_random(&state) + 1) * VOCABULARY / 2);
    /* the first values of a model are so small that attention would not matter */
    for (size_t i = 0; i < eg_model_count(b->model); i++) {
        eg_tensor tensor;
        eg_model_tensor(b->model, i, &tensor, NULL);
        for (uint64_t k = 0; tensor.rank == 2 && k < tensor.shape[0] * tensor.shape[1]; k++)
            ((float *)tensor.data)[k] *= 8;
    }
}
static void close_bench(bench *b) {
    eg_model_destroy(b->model);
    eg_context_destroy(b->context);
}

/* The logits of the last of these tokens, without a cache. */
static void exact(bench *b, size_t count, const uint32_t *tokens, float *out) {
    float *rows = transformer_rows(b->context, b->model, tokens, count, 0, 0);
    memcpy(out, rows + (count - 1) * VOCABULARY, VOCABULARY * sizeof *out);
    free(rows);
}

static void check_same(const char *what, const float *got, const float *want) {
    double worst = 0, size = 1;
    for (int i = 0; i < VOCABULARY; i++) {
        worst = test_worse(worst, fabs((double)got[i] - (double)want[i]));
        size = fmax(size, fabs((double)want[i]));
    }
    CHECK(worst <= 2e-5 * size, "%s: off by %g of %g", what, worst, size);
}

TEST(generator_texts, forks) {
    bench b;
    eg_error error;
    eg_generator *g, *fork, *other;
    const float *logits;
    float want[VOCABULARY];
    uint32_t second[TOKENS];
    open_bench(&b, "llama:2:64,heads=4,kv=2,context=256,seed=1");
    const eg_generator_options options = {.sequences = 2, .chunk = 32};
    CHECK_OK(eg_generator_create(b.model, &options, &g, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens, 100, NULL, &error), error); /* a page and a half */
    CHECK_OK(eg_generator_fork(g, &fork, &error), error);
    CHECK_FAILS(eg_generator_fork(g, &other, &error), error, EG_ERR_BUDGET, "2 texts share");
    CHECK_FAILS(eg_generator_fork(NULL, &other, &error), error, EG_ERR_ARGUMENT, "no generator");
    /* both go on, each its own way, in turns */
    memcpy(second, b.tokens, sizeof second);
    for (int i = 100; i < TOKENS; i++) second[i] = (b.tokens[i] + 17) % VOCABULARY;
    CHECK_OK(eg_generator_feed(fork, second + 100, 20, NULL, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens + 100, 50, &logits, &error), error);
    exact(&b, 150, b.tokens, want);
    check_same("the first", logits, want);
    CHECK_OK(eg_generator_feed(fork, second + 120, 30, &logits, &error), error);
    exact(&b, 150, second, want);
    check_same("the fork", logits, want);
    /* back into the page that both have: the other one keeps what it has */
    CHECK_OK(eg_generator_rewind(g, 40, &error), error);
    CHECK_OK(eg_generator_feed(g, second + 100, 30, &logits, &error), error);
    memcpy(want, logits, sizeof want);
    uint32_t third[70];
    memcpy(third, b.tokens, 40 * sizeof *third);
    memcpy(third + 40, second + 100, 30 * sizeof *third);
    float direct[VOCABULARY];
    exact(&b, 70, third, direct);
    check_same("the first, written anew", want, direct);
    CHECK_OK(eg_generator_feed(fork, third, 1, &logits, &error), error);
    uint32_t longer[TOKENS + 1];
    memcpy(longer, second, sizeof second);
    longer[TOKENS] = third[0];
    exact(&b, TOKENS + 1, longer, direct);
    check_same("the fork after that", logits, direct);
    eg_generator_destroy(g);
    eg_generator_destroy(fork);
    close_bench(&b);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_model *model;
    eg_generator *g = NULL, *fork = NULL;
    const uint32_t tokens[] = {1, 2, 3};
    (void)user;
    eg_status status = eg_model_open(context, "llama:1:64,context=64", &model, error);
    if (status) return status;
    const eg_generator_options options = {.sequences = 2};
    status = eg_generator_create(model, &options, &g, error);
    if (!status) status = eg_generator_feed(g, tokens, 3, NULL, error);
    if (!status) status = eg_generator_fork(g, &fork, error);
    eg_generator_destroy(fork);
    eg_generator_destroy(g);
    eg_model_destroy(model);
    return status;
}

TEST(generator_texts, every_allocation_failing) {
    CHECK(test_every_allocation_within(attempt, NULL) > 10, "few allocations");
}

/* Through the cache, token by token after a prompt, as without it. */
static void check_spec(const char *spec) {
    bench b;
    eg_error error;
    eg_generator *g;
    const float *logits;
    float want[VOCABULARY];
    open_bench(&b, spec);
    CHECK_OK(eg_generator_create(b.model, &(eg_generator_options){.chunk = 48}, &g, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens, TOKENS - 3, NULL, &error), error);
    for (int i = TOKENS - 3; i < TOKENS; i++)
        CHECK_OK(eg_generator_feed(g, b.tokens + i, 1, &logits, &error), error);
    exact(&b, TOKENS, b.tokens, want);
    check_same(spec, logits, want);
    eg_generator_destroy(g);
    close_bench(&b);
}

TEST(generator_texts, windows_and_positions) {
    check_spec("llama:2:64,heads=4,context=256,window=20");
    check_spec("llama:2:64,heads=4,context=256,window=100,positions=learned");
    check_spec("llama:1:64,heads=2,context=256,positions=sinusoidal");
    check_spec("gpt2:1:64,heads=2,context=256,positions=rotary,base=500");
    check_spec("gpt2:2:64,heads=2,context=256,positions=sinusoidal");
}

/* What a window has passed is gone. */
TEST(generator_texts, no_way_back) {
    bench b;
    eg_error error;
    eg_generator *g;
    open_bench(&b, "llama:1:64,context=256,window=20");
    CHECK_OK(eg_generator_create(b.model, NULL, &g, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens, TOKENS, NULL, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens, 1, NULL, &error), error);
    CHECK_FAILS(eg_generator_rewind(g, 30, &error), error, EG_ERR_ARGUMENT, "were given back");
    CHECK_OK(eg_generator_rewind(g, 0, &error), error);
    CHECK_OK(eg_generator_feed(g, b.tokens, 70, NULL, &error), error);
    eg_generator_destroy(g);
    close_bench(&b);
}

TEST(generator_texts, specs) {
    static const struct {
        const char *spec, *message;
    } rows[] = {{"llama:1", "LAYERS:WIDTH"},
                {"llama:1:64:3", "LAYERS:WIDTH"},
                {"llama:0:64", "layers=0 is not a whole number within 1..4194304"},
                {"llama:1:64,heads", "not key=value"},
                {"llama:1:64,heads=5", "multiple of 5 heads"},
                {"llama:1:64,dropout=x", "dropout=x is not a number"},
                {"llama:1:64,dropout=1", "dropout"},
                {"llama:1:64,worm=1", "not known"},
                {"llama:1:64,positions=none", "not known"},
                {"llama:1:64,norm=pre", "not known"},
                {"bert:1:64,norm=mid", "not known"},
                {"llama:1:200000", "the width 200000 is out of range"},
                {"llama:1:64,seed=-1", "not known"}};
    eg_context *context;
    eg_error error;
    eg_model *model;
    eg_tensor tensor;
    char spec[600] = "llama:1:64,vocab=";
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_FAILS(eg_model_open(context, rows[i].spec, &model, &error), error, EG_ERR_ARGUMENT,
                    rows[i].message);
    memset(spec + strlen(spec), '1', 580 - strlen(spec));
    CHECK_FAILS(eg_model_open(context, spec, &model, &error), error, EG_ERR_ARGUMENT, "too long");
    /* widths become multiples of 64; values can be read wherever they are */
    CHECK_OK(eg_model_open(context, "bert:1:65,hidden=70,norm=pre,heads=2", &model, &error), error);
    eg_transformer_info info = {.size = sizeof info};
    CHECK_OK(eg_model_transformer(model, &info, &error), error);
    CHECK(info.width == 128 && info.hidden == 128 && strcmp(info.positions, "learned") == 0,
          "width %llu, hidden %llu", (unsigned long long)info.width,
          (unsigned long long)info.hidden);
    float *values = test_alloc(256 * 128 * sizeof *values);
    CHECK_OK(eg_model_read(model, 0, values, &error), error);
    eg_model_tensor(model, 0, &tensor, NULL);
    CHECK(memcmp(values, tensor.data, 256 * 128 * sizeof *values) == 0, "other values");
    CHECK_FAILS(eg_model_read(model, 9999, values, &error), error, EG_ERR_ARGUMENT, "no tensor");
    CHECK(!eg_model_numbers(model, 9999, NULL), "numbers of no tensor");
    free(values);
    /* positions end */
    eg_graph *g;
    eg_model_nodes nodes;
    CHECK_OK(eg_graph_create(context, &g, &error), error);
    CHECK_FAILS(eg_model_build(model, g, &(eg_model_options){.time = 2000}, &nodes, &error), error,
                EG_ERR_ARGUMENT, "context of 1024");
    eg_graph_destroy(g);
    eg_model_destroy(model);
    eg_context_destroy(context);
}
