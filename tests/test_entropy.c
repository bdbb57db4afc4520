/* Windowed entropy against its definition in double: every window, both ends, pieces of every size. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(entropy, "windowed entropy of bytes within 1e-6 of the definition, in any pieces")

static const double TOLERANCE = 1e-6;

/* The definition, written to be read. */
static double entropy_at(const unsigned char *bytes, size_t count, uint64_t window, size_t i) {
    const uint64_t before = window / 2, after = window - before;
    const size_t low = i > before ? i - (size_t)before : 0;
    const size_t high = after < count - i ? i + (size_t)after : count;
    double counts[256] = {0}, bits = 0;
    for (size_t k = low; k < high; k++) counts[bytes[k]]++;
    for (int b = 0; b < 256; b++) {
        const double p = counts[b] / (double)(high - low);
        if (p > 0) bits -= p * log2(p);
    }
    return bits / 8;
}

typedef enum kind { RANDOM, CONSTANT, TEXT, TWO, RUNS, RAMP, KINDS } kind;
static const char *const kind_names[] = {"random",     "constant", "text",
                                         "two values", "runs",     "ramp"};

static unsigned char *bytes_of(kind k, size_t count) {
    static const char words[] = "the worm has 302 neurons, and a liquid network has fewer; ";
    unsigned char *bytes = test_alloc(count);
    uint64_t state = 1 + (uint64_t)k;
    size_t word = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned random = (unsigned)((test_random(&state) + 1) * 32768);
        if (k == TEXT && random % 7 == 0) word = random % (sizeof words - 1);
        bytes[i] = (unsigned char)(k == RANDOM     ? random >> 4
                                   : k == CONSTANT ? 'e'
                                   : k == TEXT     ? (unsigned)words[word++ % (sizeof words - 1)]
                                   : k == TWO      ? random >> 4 & 1
                                   : k == RUNS     ? i / 300 * 7
                                                   : i);
    }
    return bytes;
}

static eg_context *open_context(void) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    return context;
}

/* Compares every `stride`-th place; the values are within 0..1 without exception. */
static double worst_error(const unsigned char *bytes, size_t count, uint64_t window,
                          const float *values, size_t stride) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(values[i] >= 0 && values[i] <= 1, "place %zu: %g", i, (double)values[i]);
        /* the ends, and places in between */
        if (i % stride && i > 3 && count - i > 4) continue;
        const double error = fabs((double)values[i] - entropy_at(bytes, count, window, i));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void check_window(eg_context *context, kind k, size_t count, uint64_t window,
                         size_t stride) {
    eg_error error;
    unsigned char *bytes = bytes_of(k, count);
    float *values = test_alloc(count * sizeof *values);
    CHECK_OK(eg_entropy_of(context, bytes, count, window, values, &error), error);
    const double worst = worst_error(bytes, count, window, values, stride);
    CHECK(worst < TOLERANCE, "%s, %zu bytes, window %llu: error %g", kind_names[k], count,
          (unsigned long long)window, worst);
    free(bytes);
    free(values);
}

TEST(entropy, every_small_window) {
    static const size_t counts[] = {1, 2, 3, 7, 64};
    eg_context *context = open_context();
    for (uint64_t window = 1; window <= 300; window++) {
        check_window(context, RANDOM, 310, window, 1);
        check_window(context, TEXT, 310, window, 7);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            check_window(context, RAMP, counts[i], window, 1);
    }
    eg_context_destroy(context);
    test_claim("windows of 1 to 300 bytes, inputs shorter and longer, both ends");
}

TEST(entropy, every_kind_and_large_windows) {
    static const uint64_t windows[] = {
        1,     2,      3,      16,     255,    256,     257,
        511,   512,    513,    999,    1024,   4096,    65535,
        65536, 199999, 200000, 200001, 400000, 1000000, EG_ENTROPY_WINDOW_MAX};
    eg_context *context = open_context();
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (kind k = 0; k < KINDS; k++)
            check_window(context, k, 200000, windows[i], windows[i] > 4096 ? 19997 : 1999);
    eg_context_destroy(context);
}

/* Windows in which all values are equally often: rounding must not lead beyond 1. */
TEST(entropy, never_more_than_one) {
    eg_context *context = open_context();
    for (uint64_t window = 256; window < 100000; window += window < 8192 ? 256 : 256 * 37)
        check_window(context, RAMP, 100000, window, 30011);
    eg_context_destroy(context);
}

TEST(entropy, exact_values) {
    eg_context *context = open_context();
    eg_error error;
    unsigned char all[256], same[1000], pair[2] = {1, 2};
    float values[1000];
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
    CHECK_OK(eg_entropy_of(context, all, 256, 1 << 20, values, &error), error);
    for (int i = 0; i < 256; i++)
        CHECK(values[i] == 1, "all bytes once, place %d: %.9g", i, (double)values[i]);
    memset(same, 0xff, sizeof same);
    static const uint64_t windows[] = {1, 3, 256, 300, 511, 512, 700, 5000};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        CHECK_OK(eg_entropy_of(context, same, sizeof same, windows[w], values, &error), error);
        for (size_t i = 0; i < sizeof same; i++)
            CHECK(values[i] == 0, "constant, window %llu, place %zu: %.9g",
                  (unsigned long long)windows[w], i, (double)values[i]);
    }
    /* [i - 1, i + 1): one byte at the first place, both at the second */
    CHECK_OK(eg_entropy_of(context, pair, 2, 2, values, &error), error);
    CHECK(values[0] == 0 && values[1] == 0.125f, "%g %g", (double)values[0], (double)values[1]);
    CHECK_OK(eg_entropy_of(context, NULL, 0, 0, NULL, &error), error);
    eg_context_destroy(context);
}

/* All of an input in pieces; the number of values. */
static size_t push_all(eg_context *context, const unsigned char *bytes, size_t count, size_t piece,
                       uint64_t window, float *out) {
    eg_entropy *entropy;
    eg_error error;
    size_t total = 0, given = 0;
    CHECK_OK(eg_entropy_create(context, window, &entropy, &error), error);
    for (size_t at = 0; at < count; at += piece) {
        const size_t size = eg__min(piece, count - at);
        CHECK_OK(eg_entropy_push(entropy, bytes + at, size, out + total, &given, &error), error);
        CHECK(given <= size, "%zu values of %zu bytes", given, size);
        total += given;
    }
    while ((given = eg_entropy_end(entropy, out + total, 1 + total % 100))) total += given;
    CHECK_FAILS(eg_entropy_push(entropy, bytes, 1, out, &given, &error), error, EG_ERR_ARGUMENT,
                "after the end");
    eg_entropy_destroy(entropy);
    return total;
}

TEST(entropy, pieces_change_nothing) {
    static const size_t counts[] = {0, 1, 2, 255, 256, 257, 5000, 300000};
    static const size_t pieces[] = {1, 2, 3, 127, 256, 4096, 65536, 100000, 1000000};
    static const uint64_t windows[] = {1, 2, 5, 256, 257, 1000, 100000, 1000000};
    eg_context *context = open_context();
    eg_error error;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
            const size_t count = counts[c];
            unsigned char *bytes = bytes_of(TEXT, count);
            float *whole = test_alloc(count * sizeof *whole);
            float *values = test_alloc(count * sizeof *values);
            CHECK_OK(eg_entropy_of(context, bytes, count, windows[w], whole, &error), error);
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                if (count / pieces[p] > 10000) continue;
                const size_t total = push_all(context, bytes, count, pieces[p], windows[w], values);
                CHECK(total == count && memcmp(values, whole, count * sizeof *values) == 0,
                      "%zu bytes, window %llu, pieces of %zu: %zu values", count,
                      (unsigned long long)windows[w], pieces[p], total);
            }
            free(bytes);
            free(whole);
            free(values);
        }
    eg_context_destroy(context);
}

/* What enters must leave without a trace: after so many bytes the last window is as exact as the first. */
TEST(entropy, no_error_piles_up) {
    enum { PIECE = 1 << 16, PIECES = 512 };
    eg_context *context = open_context();
    eg_entropy *entropy;
    eg_error error;
    unsigned char *bytes = bytes_of(RANDOM, PIECE);
    float *values = test_alloc(PIECE * sizeof *values);
    size_t given;
    CHECK_OK(eg_entropy_create(context, 777, &entropy, &error), error);
    for (int i = 0; i < PIECES; i++)
        CHECK_OK(eg_entropy_push(entropy, bytes, PIECE, values, &given, &error), error);
    CHECK(given == PIECE, "%zu", given);
    const size_t last = PIECE - 777; /* whose window lies within the last piece */
    const double wanted = entropy_at(bytes, PIECE, 777, last);
    const double got = (double)values[last + (777 - 777 / 2) - 1];
    CHECK(fabs(got - wanted) < TOLERANCE, "%.9g, expected %.9g", got, wanted);
    eg_entropy_destroy(entropy);
    free(bytes);
    free(values);
    eg_context_destroy(context);
}

TEST(entropy, memory_follows_the_input) {
    eg_context *context = open_context();
    eg_entropy *entropy;
    eg_error error;
    eg_memory_figures before, after;
    unsigned char *bytes = bytes_of(TEXT, 65536);
    float *values = test_alloc(65536 * sizeof *values);
    size_t given;
    CHECK_FAILS(eg_entropy_create(context, (uint64_t)EG_ENTROPY_WINDOW_MAX + 1, &entropy, &error),
                error, EG_ERR_ARGUMENT, "window of '1073741825' bytes is larger than 1073741824");
    CHECK(!entropy, "not NULL");
    CHECK_FAILS(eg_entropy_create(NULL, 0, &entropy, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_entropy_of(NULL, bytes, 1, 0, values, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_entropy_of(context, bytes, 1, UINT64_MAX, values, &error), error,
                EG_ERR_ARGUMENT, "window of '18446744073709551615' bytes");
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &before, &error), error);
    CHECK_OK(eg_entropy_create(context, EG_ENTROPY_WINDOW_MAX, &entropy, &error), error);
    CHECK_OK(eg_entropy_push(entropy, bytes, 65536, values, &given, &error), error);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &after, &error), error);
    CHECK(after.current - before.current < 1 << 20, "%llu bytes",
          (unsigned long long)(after.current - before.current));
    eg_entropy_destroy(entropy);
    /* a long input and a small window */
    CHECK_OK(eg_entropy_create(context, 0, &entropy, &error), error);
    for (int i = 0; i < 64; i++)
        CHECK_OK(eg_entropy_push(entropy, bytes, 65536, values, &given, &error), error);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &after, &error), error);
    CHECK(after.current - before.current < 1 << 19, "%llu bytes",
          (unsigned long long)(after.current - before.current));
    eg_entropy_destroy(entropy);
    free(bytes);
    free(values);
    eg_context_destroy(context);
}

TEST(entropy, a_budget_refuses) {
    eg_context *context;
    eg_entropy *entropy;
    eg_error error;
    eg_memory_figures figures;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    CHECK_OK(eg_memory_query(context, EG_TAG_COUNT, &figures, &error), error);
    eg_context_destroy(context);
    const eg_context_options options = {.threads = 1, .memory_budget = figures.current + (1 << 20)};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    unsigned char *bytes = bytes_of(TEXT, 1 << 20);
    float *values = test_alloc((1 << 20) * sizeof *values);
    size_t given;
    CHECK_OK(eg_entropy_create(context, 1 << 20, &entropy, &error), error);
    CHECK_FAILS(eg_entropy_push(entropy, bytes, 1 << 20, values, &given, &error), error,
                EG_ERR_MEMORY, "no memory for a window of '1048576' bytes");
    eg_entropy_destroy(entropy);
    free(bytes);
    free(values);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    unsigned char bytes[3000] = {1, 2, 3};
    float values[3000];
    eg_entropy *entropy;
    size_t given;
    eg_status status = eg_entropy_of(context, bytes, sizeof bytes, 5000, values, error);
    if (status) return status;
    status = eg_entropy_create(context, 5000, &entropy, error);
    for (int i = 0; i < 3 && !status; i++)
        status = eg_entropy_push(entropy, bytes, sizeof bytes, values, &given, error);
    eg_entropy_destroy(entropy);
    return status;
}

TEST(entropy, every_allocation) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed >= 5, "%d allocations", failed);
}
