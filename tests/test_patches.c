/* Patches cut by entropy: sizes, thresholds, targets, pieces, statistics, and nothing lost. */
#include "test.h"
#include "elegans/elegans.h"

#include <math.h>

AREA(patches, "patches cover the input, keep their sizes and say what they are")

enum { MOST = 20000 };

static eg_context *open_context(void) {
    eg_context *context;
    eg_error error;
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    return context;
}

/* Entropies that wander between 0 and 1, with long calm stretches. */
static float *entropies_make(size_t count, uint64_t seed) {
    float *e = test_alloc(count * sizeof *e), value = 0.5f;
    for (size_t i = 0; i < count; i++) {
        value += 0.05f * test_random(&seed);
        value = value < 0 ? 0 : value > 1 ? 1 : value;
        e[i] = i / 500 % 4 == 3 ? 0.1f : value;
    }
    return e;
}

/* Sizes add up and keep to their bounds; the last may be shorter unless `exact`. */
static void check_cover(const uint32_t *sizes, size_t patches, size_t count, uint32_t least,
                        uint32_t most, bool exact, const char *what) {
    size_t sum = 0;
    for (size_t i = 0; i < patches; i++) {
        const bool last = i + 1 == patches && !exact;
        CHECK(sizes[i] >= (last ? 1 : least) && sizes[i] <= most, "%s: patch %zu of %zu has %u",
              what, i, patches, sizes[i]);
        sum += sizes[i];
    }
    CHECK(sum == count, "%s: %zu bytes of %zu", what, sum, count);
}

TEST(patches, cover_and_bounds) {
    static const eg_patch_options options[] = {
        {0},
        {.minimum = 1, .maximum = 1},
        {.minimum = 1, .maximum = 100, .low = 0.01, .high = 0.99},
        {.minimum = 6, .maximum = 7},
        {.minimum = 3, .maximum = 9, .low = 0.5, .high = 0.51},
        {.minimum = 32, .maximum = 32},
    };
    static const size_t counts[] = {0, 1, 3, 4, 5, 31, 32, 33, 1000, MOST};
    eg_context *context = open_context();
    eg_error error;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const size_t count = counts[c];
            const uint32_t least = options[o].minimum ? options[o].minimum : 4,
                           most = options[o].maximum ? options[o].maximum : 32;
            float *e = entropies_make(count, c);
            uint32_t *sizes = test_alloc((count / least + 1) * sizeof *sizes);
            size_t patches;
            CHECK_OK(eg_patch_sizes(context, &options[o], e, count, sizes, &patches, NULL, &error),
                     error);
            check_cover(sizes, patches, count, least, most, false, "entropy");
            free(e);
            free(sizes);
        }
    eg_context_destroy(context);
}

/* What a constant entropy makes of a patch. */
TEST(patches, thresholds) {
    static const struct {
        float entropy;
        uint32_t minimum, maximum, size;
    } rows[] = {
        {0, 4, 32, 32},    {0.2f, 4, 32, 32}, {0.3f, 4, 32, 32}, {0.5f, 4, 32, 18},
        {0.4f, 4, 32, 25}, {0.6f, 4, 32, 11}, {0.7f, 4, 32, 4},  {0.9f, 4, 32, 4},
        {1, 4, 32, 4},     {1, 6, 30, 6},     {0, 6, 30, 30},    {1, 7, 49, 7},
        {0, 7, 49, 49},    {0.5f, 1, 1, 1},
    };
    eg_context *context = open_context();
    eg_error error;
    float e[1000];
    uint32_t sizes[1000];
    size_t patches;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int i = 0; i < 1000; i++) e[i] = rows[r].entropy;
        const eg_patch_options options = {.minimum = rows[r].minimum, .maximum = rows[r].maximum};
        CHECK_OK(eg_patch_sizes(context, &options, e, 1000, sizes, &patches, NULL, &error), error);
        for (size_t i = 0; i + 1 < patches; i++)
            CHECK(sizes[i] == rows[r].size, "entropy %g, patch %zu: %u, expected %u",
                  (double)rows[r].entropy, i, sizes[i], rows[r].size);
    }
    /* a patch that begins calm and becomes busy ends sooner than a calm one */
    for (int i = 0; i < 1000; i++) e[i] = i < 16 ? 0 : 1;
    CHECK_OK(eg_patch_sizes(context, NULL, e, 1000, sizes, &patches, NULL, &error), error);
    CHECK(sizes[0] == 18 && sizes[1] == 4, "%u %u", sizes[0], sizes[1]);
    eg_context_destroy(context);
}

TEST(patches, targets) {
    static const size_t counts[] = {1, 3, 4, 31, 32, 33, 100, 1001, MOST};
    eg_context *context = open_context();
    eg_error error;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const size_t count = counts[c];
        const uint64_t few = (count + 31) / 32, many = count < 4 ? 1 : count / 4;
        float *e = entropies_make(count, 3);
        uint32_t *sizes = test_alloc(count * sizeof *sizes);
        for (uint64_t target = few; target <= many; target += 1 + (many - few) / 40) {
            const eg_patch_options options = {.mode = EG_PATCH_TARGET, .target = target};
            size_t patches;
            CHECK_OK(eg_patch_sizes(context, &options, e, count, sizes, &patches, NULL, &error),
                     error);
            CHECK(patches == target, "%zu bytes: %zu patches, not %llu", count, patches,
                  (unsigned long long)target);
            check_cover(sizes, patches, count, count < 4 ? 1 : 4, 32, true, "target");
        }
        free(e);
        free(sizes);
    }
    eg_context_destroy(context);
}

/* Of how many patches the first half of an input gets, calm or busy. */
static size_t first_half(eg_context *context, uint64_t target, float first, float second) {
    eg_error error;
    float e[2000];
    uint32_t sizes[2000];
    size_t patches, at = 0, count = 0;
    for (int i = 0; i < 2000; i++) e[i] = i < 1000 ? first : second;
    const eg_patch_options options = {.mode = EG_PATCH_TARGET, .target = target};
    CHECK_OK(eg_patch_sizes(context, &options, e, 2000, sizes, &patches, NULL, &error), error);
    for (; at < 1000; count++) at += sizes[count];
    return count;
}

TEST(patches, targets_follow_the_entropy) {
    static const struct {
        uint64_t target;
        size_t calm; /* of them */
    } rows[] = {
        {168, 35}, /* what such bytes want: 28.5 and 7.5 bytes */
        {200, 42}, /* a fifth more of both */
        {100, 32}, /* no patch has more than 32 bytes: the others are longer instead */
        {64, 32},  {300, 63}, {400, 150}, {500, 250},
    };
    eg_context *context = open_context();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t calm = first_half(context, rows[i].target, 0.35f, 0.65f);
        const size_t busy = first_half(context, rows[i].target, 0.65f, 0.35f);
        CHECK(calm + 1 >= rows[i].calm && calm <= rows[i].calm + 1, "%llu patches: %zu calm",
              (unsigned long long)rows[i].target, calm);
        /* nor does it matter which comes first */
        CHECK(calm + busy + 2 >= rows[i].target && calm + busy <= rows[i].target + 2,
              "%llu patches: %zu calm, but %zu busy", (unsigned long long)rows[i].target, calm,
              busy);
    }
    eg_context_destroy(context);
}

TEST(patches, pieces_change_nothing) {
    static const eg_patch_options options[] = {
        {0}, {.mode = EG_PATCH_TARGET, .target = 1234}, {.mode = EG_PATCH_FIXED}};
    static const size_t pieces[] = {1, 3, 100, 4096};
    eg_context *context = open_context();
    eg_error error;
    float *e = entropies_make(MOST, 5);
    uint32_t *whole = test_alloc(MOST * sizeof *whole), *sizes = test_alloc(MOST * sizeof *sizes);
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        size_t patches, found;
        CHECK_OK(eg_patch_sizes(context, &options[o], e, MOST, whole, &patches, NULL, &error),
                 error);
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            eg_patcher *patcher;
            CHECK_OK(eg_patcher_create(context, &options[o], &patcher, &error), error);
            for (size_t at = 0; at < MOST; at += pieces[p])
                eg_patcher_measure(patcher, e + at, eg__min(pieces[p], MOST - at));
            CHECK_OK(eg_patcher_begin(patcher, &error), error);
            found = 0;
            for (size_t at = 0; at < MOST; at += pieces[p])
                found +=
                    eg_patcher_push(patcher, e + at, eg__min(pieces[p], MOST - at), sizes + found);
            found += eg_patcher_end(patcher, sizes + found);
            CHECK(eg_patcher_end(patcher, sizes) == 0, "ended twice");
            CHECK(found == patches && memcmp(sizes, whole, found * sizeof *sizes) == 0,
                  "options %zu, pieces of %zu: %zu patches, not %zu", o, pieces[p], found, patches);
            eg_patcher_destroy(patcher);
        }
    }
    free(e);
    free(whole);
    free(sizes);
    eg_context_destroy(context);
}

TEST(patches, statistics) {
    eg_context *context = open_context();
    eg_error error;
    eg_patch_statistics s;
    uint32_t sizes[64];
    size_t patches;
    float e[40];
    for (int i = 0; i < 40; i++) e[i] = i < 36 ? 0.25f : 0.75f;
    const eg_patch_options fixed = {.mode = EG_PATCH_FIXED};
    CHECK_OK(eg_patch_sizes(context, &fixed, e, 40, sizes, &patches, &s, &error), error);
    CHECK(patches == 3 && s.count == 3 && s.bytes == 40 && s.size_least == 4 && s.size_most == 18,
          "%zu patches of %u to %u", patches, s.size_least, s.size_most);
    CHECK(fabs(s.size_mean - 40.0 / 3) < 1e-12 && s.compression_ratio == s.size_mean &&
              fabs(s.size_deviation - sqrt((324 + 324 + 16) / 3.0 - 1600 / 9.0)) < 1e-9,
          "mean %g, deviation %g", s.size_mean, s.size_deviation);
    CHECK(fabs(s.entropy_mean - 0.3) < 1e-7 && s.entropy_least == 0.25 && s.entropy_most == 0.75 &&
              fabs(s.coded_ratio - 1 / 0.3) < 1e-5,
          "entropy %g, %g to %g, coded %g", s.entropy_mean, s.entropy_least, s.entropy_most,
          s.coded_ratio);
    memset(e, 0, sizeof e);
    CHECK_OK(eg_patch_sizes(context, NULL, e, 40, sizes, &patches, &s, &error), error);
    CHECK(isinf(s.coded_ratio) && s.entropy_mean == 0, "coded %g", s.coded_ratio);
    CHECK_OK(eg_patch_sizes(context, NULL, e, 0, sizes, &patches, &s, &error), error);
    CHECK(patches == 0 && s.count == 0 && isnan(s.size_mean) && isnan(s.coded_ratio), "not empty");
    eg_context_destroy(context);
}

/* Bytes to patches and back. */
TEST(patches, lossless) {
    enum { COUNT = 5000 };
    eg_context *context = open_context();
    eg_error error;
    unsigned char bytes[COUNT], back[COUNT];
    float e[COUNT];
    uint32_t sizes[COUNT];
    size_t patches, at = 0;
    uint64_t state = 9;
    for (int i = 0; i < COUNT; i++)
        bytes[i] = (unsigned char)(i / 1000 % 2 ? (test_random(&state) + 1) * 127 : i / 9);
    CHECK_OK(eg_entropy_of(context, bytes, COUNT, 0, e, &error), error);
    CHECK_OK(eg_patch_sizes(context, NULL, e, COUNT, sizes, &patches, NULL, &error), error);
    for (size_t i = 0; i < patches && at + sizes[i] <= COUNT; at += sizes[i++])
        memcpy(back + at, bytes + at, sizes[i]);
    CHECK(at == COUNT && memcmp(back, bytes, COUNT) == 0, "%zu bytes came back", at);
    CHECK(sizes[0] > 18 && sizes[patches / 2] < 18, "%u %u", sizes[0], sizes[patches / 2]);
    eg_context_destroy(context);
}

TEST(patches, refusals) {
    static const struct {
        eg_patch_options options;
        eg_status status;
        const char *part;
    } rows[] = {
        {{.minimum = 33}, EG_ERR_ARGUMENT, "minimum patch '33' is larger than the maximum 32"},
        {{.maximum = 2}, EG_ERR_ARGUMENT, "minimum patch '4' is larger than the maximum 2"},
        {{.maximum = 2000000}, EG_ERR_ARGUMENT, "patches of '2000000' bytes are larger than"},
        {{.mode = EG_PATCH_FIXED, .fixed = 2000000}, EG_ERR_ARGUMENT, "'2000000'"},
        {{.low = 0.5, .high = 0.5}, EG_ERR_ARGUMENT, "thresholds '0.5' and '0.5'"},
        {{.low = 0.5, .high = 0.4}, EG_ERR_ARGUMENT, "thresholds '0.5' and '0.4'"},
        {{.low = -0.5, .high = 0.4}, EG_ERR_ARGUMENT, "thresholds '-0.5'"},
        {{.low = 0.5, .high = 1.5}, EG_ERR_ARGUMENT, "'1.5'"},
        {{.low = NAN, .high = 0.5}, EG_ERR_ARGUMENT, "thresholds 'nan'"},
        {{.mode = (eg_patch_mode)7}, EG_ERR_ARGUMENT, "unknown patch mode '7'"},
        {{.mode = EG_PATCH_TARGET}, EG_ERR_ARGUMENT, "target of '0' patches"},
        {{.mode = EG_PATCH_TARGET, .target = 3},
         EG_ERR_ARGUMENT,
         "'3' patches of 4 to 32 bytes cannot cover 100 bytes: 4 to 25 can"},
        {{.mode = EG_PATCH_TARGET, .target = 26}, EG_ERR_ARGUMENT, "4 to 25 can"},
        {{.mode = EG_PATCH_TARGET, .target = 2, .minimum = 40, .maximum = 49},
         EG_ERR_ARGUMENT,
         "no patches of 40 to 49 bytes cover 100 bytes"},
        {{.mode = EG_PATCH_TARGET, .target = UINT64_MAX}, EG_ERR_OVERFLOW, "size overflow"},
    };
    eg_context *context = open_context();
    eg_error error;
    float e[100] = {0};
    uint32_t sizes[100];
    size_t patches;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_FAILS(
            eg_patch_sizes(context, &rows[i].options, e, 100, sizes, &patches, NULL, &error), error,
            rows[i].status, rows[i].part);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    (void)user;
    const float e[10] = {0};
    uint32_t sizes[10];
    size_t patches;
    return eg_patch_sizes(context, NULL, e, 10, sizes, &patches, NULL, error);
}

TEST(patches, every_allocation) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed >= 1, "%d allocations", failed);
}
