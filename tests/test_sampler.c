/* Which token comes next: frequencies against probabilities, ties, numbers that are none. */
#include "elegans/elegans.h"
#include "test.h"

#include <math.h>

AREA(sampler, "frequencies of tokens against their probabilities; ties, NaN, infinities, seeds")

enum { MOST = 64, DRAWS = 20000 };

static eg_context *open_context(void) {
    eg_error error;
    eg_context *context;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    return context;
}

static uint32_t next_of(eg_context *context, const eg_sampling *how, const float *logits,
                        size_t count) {
    eg_error error;
    eg_sampler *s;
    uint32_t token = UINT32_MAX;
    CHECK_OK(eg_sampler_create(context, count, how, &s, &error), error);
    CHECK_OK(eg_sampler_next(s, logits, &token, &error), error);
    eg_sampler_destroy(s);
    return token;
}

TEST(sampler, likeliest) {
    static const struct {
        float logits[5];
        uint32_t token;
    } rows[] = {{{0, 1, 2, 1, 0}, 2},
                {{3, 1, 3, 3, 0}, 0}, /* ties: the first */
                {{-1, -2, -1, -3, -1}, 0},
                {{NAN, 1, 2, NAN, 2}, 2},
                {{NAN, NAN, NAN, NAN, -INFINITY}, 4},
                {{0, INFINITY, 5, INFINITY, 0}, 1},
                {{-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}, 0},
                {{-INFINITY, -INFINITY, -5, -INFINITY, NAN}, 2},
                {{-0.0f, 0.0f, 0, 0, 0}, 0}};
    const eg_sampling hows[] = {{0}, {.top_k = 3, .top_p = 0.5}, {.temperature = 2, .top_k = 1}};
    eg_context *context = open_context();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof hows / sizeof *hows; k++) {
            const uint32_t token = next_of(context, &hows[k], rows[i].logits, 5);
            CHECK(token == rows[i].token, "row %zu, way %zu: %u", i, k, token);
        }
    eg_context_destroy(context);
}

/* ---- by chance */
typedef struct setting {
    size_t count;
    float logits[MOST];
    eg_sampling how;
} setting;

/* Probabilities as the words of the header say them: the top_k first, of these the likeliest until top_p. */
static void direct(const setting *s, double *p) {
    size_t order[MOST], count = 0;
    for (size_t i = 0; i < s->count; i++) {
        p[i] = 0;
        if (isnan(s->logits[i])) continue;
        size_t at = count++;
        for (; at > 0 && s->logits[order[at - 1]] < s->logits[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    if (s->how.top_k && s->how.top_k < count) count = (size_t)s->how.top_k;
    double sum = 0, part = 0;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)(s->logits[order[i]] - s->logits[order[0]]) / s->how.temperature);
    for (size_t i = 0; i < count; i++) {
        if (s->how.top_p > 0 && part >= s->how.top_p) break;
        p[order[i]] =
            exp((double)(s->logits[order[i]] - s->logits[order[0]]) / s->how.temperature) / sum;
        part += p[order[i]];
    }
    for (size_t i = 0; i < s->count; i++) p[i] /= part;
}

static void check_frequencies(eg_context *context, const setting *s, const char *name) {
    eg_error error;
    eg_sampler *sampler;
    uint64_t seen[MOST] = {0};
    double p[MOST];
    const int draws = test_emulated() ? DRAWS / 10 : DRAWS;
    direct(s, p);
    CHECK_OK(eg_sampler_create(context, s->count, &s->how, &sampler, &error), error);
    for (int i = 0; i < draws; i++) {
        uint32_t token = 0;
        CHECK_OK(eg_sampler_next(sampler, s->logits, &token, &error), error);
        CHECK(token < s->count, "token %u of %zu", token, s->count);
        if (token < s->count) seen[token]++;
    }
    for (size_t i = 0; i < s->count; i++) {
        /* five deviations of a binomial count: one of a million right samplers fails */
        const double mean = p[i] * draws, room = 5 * sqrt(mean * (1 - p[i])) + (p[i] > 0 ? 1 : 0);
        CHECK(fabs((double)seen[i] - mean) <= room, "%s: token %zu came %llu times, not %.1f", name,
              i, (unsigned long long)seen[i], mean);
    }
    eg_sampler_destroy(sampler);
}

TEST(sampler, frequencies) {
    static const eg_sampling hows[] = {{.temperature = 1},
                                       {.temperature = 0.5},
                                       {.temperature = 3},
                                       {.temperature = 1, .top_k = 2},
                                       {.temperature = 1, .top_k = 4},
                                       {.temperature = 1, .top_k = 1000},
                                       {.temperature = 1, .top_p = 0.2},
                                       {.temperature = 1, .top_p = 0.5},
                                       {.temperature = 1, .top_p = 0.8},
                                       {.temperature = 1, .top_p = 0.95},
                                       {.temperature = 1, .top_p = 1},
                                       {.temperature = 2, .top_k = 4, .top_p = 0.7},
                                       {.temperature = 1e-3},
                                       {.temperature = 1e300}};
    eg_context *context = open_context();
    setting s = {.count = 0};
    uint64_t state = 3;
    char name[64];
    for (int kind = 0; kind < 4; kind++) {
        s.count = kind == 3 ? MOST : 7;
        for (size_t i = 0; i < s.count; i++) s.logits[i] = 3 * test_random(&state);
        if (kind == 1) s.logits[3] = s.logits[0] = NAN, s.logits[5] = -INFINITY;
        for (size_t i = 0; kind == 2 && i < s.count; i++) s.logits[i] = (float)(i % 2);
        for (size_t k = 0; k < sizeof hows / sizeof *hows; k++) {
            s.how = hows[k];
            s.how.seed = k + 1;
            /* at this one infinity over anything finite is still none */
            if (kind == 1 && s.how.temperature > 1e100) continue;
            snprintf(name, sizeof name, "logits %d, way %zu", kind, k);
            check_frequencies(context, &s, name);
        }
    }
    eg_context_destroy(context);
}

/* What has to be left out of top_p is measured by all tokens, not by those that could be in it. */
TEST(sampler, top_p_of_all) {
    static const double p[] = {0.78, 0.14, 0.039, 0.021, 0.02};
    setting s = {.count = 5, .how = {.temperature = 1, .top_p = 0.8, .seed = 4}};
    eg_context *context = open_context();
    for (size_t i = 0; i < s.count; i++) s.logits[i] = (float)log(p[i]);
    check_frequencies(context, &s, "top-p");
    eg_context_destroy(context);
}

TEST(sampler, seeds) {
    eg_context *context = open_context();
    eg_error error;
    const float logits[8] = {0};
    uint32_t tokens[3][64];
    for (int i = 0; i < 3; i++) {
        eg_sampler *s;
        const eg_sampling how = {.temperature = 1, .seed = i < 2 ? 5 : 6};
        CHECK_OK(eg_sampler_create(context, 8, &how, &s, &error), error);
        for (int k = 0; k < 64; k++)
            CHECK_OK(eg_sampler_next(s, logits, &tokens[i][k], &error), error);
        eg_sampler_destroy(s);
    }
    CHECK(memcmp(tokens[0], tokens[1], sizeof tokens[0]) == 0, "one seed, two texts");
    CHECK(memcmp(tokens[0], tokens[2], sizeof tokens[0]) != 0, "two seeds, one text");
    eg_context_destroy(context);
}

static eg_status sample(void *user, eg_context *context, eg_error *error) {
    const float logits[4] = {0, 1, 2, 3};
    eg_sampler *s = NULL;
    uint32_t token;
    (void)user;
    eg_status status = eg_sampler_create(context, 4, &(eg_sampling){.temperature = 1}, &s, error);
    if (!status) status = eg_sampler_next(s, logits, &token, error);
    eg_sampler_destroy(s);
    return status;
}

TEST(sampler, mistakes) {
    static const struct {
        eg_sampling how;
        const char *part;
    } rows[] = {{{.temperature = -1}, "temperature -1"},
                {{.temperature = NAN}, "temperature"},
                {{.temperature = INFINITY}, "temperature inf"},
                {{.top_p = -0.1}, "top-p -0.1"},
                {{.top_p = 1.5}, "top-p 1.5"},
                {{.top_p = NAN}, "top-p"}};
    eg_context *context = open_context();
    eg_error error;
    eg_sampler *s = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_FAILS(eg_sampler_create(context, 5, &rows[i].how, &s, &error), error, EG_ERR_ARGUMENT,
                    rows[i].part);
        CHECK(!s, "a sampler of row %zu", i);
    }
    CHECK_FAILS(eg_sampler_create(context, 0, NULL, &s, &error), error, EG_ERR_ARGUMENT, "no");
    CHECK_FAILS(eg_sampler_create(context, UINT64_C(1) << 33, NULL, &s, &error), error,
                EG_ERR_OVERFLOW, "8589934592");
    const float none[] = {NAN, NAN, NAN};
    for (int i = 0; i < 2; i++) {
        uint32_t token = 77;
        CHECK_OK(eg_sampler_create(context, 3, &(eg_sampling){.temperature = i}, &s, &error),
                 error);
        CHECK_FAILS(eg_sampler_next(s, none, &token, &error), error, EG_ERR_ARGUMENT,
                    "all 3 logits are NaN");
        eg_sampler_destroy(s);
    }
    eg_context_destroy(context);
    CHECK(test_every_allocation_within(sample, NULL) == 2, "a sampler takes two blocks");
}
