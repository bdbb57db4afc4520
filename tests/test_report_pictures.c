/* Pictures that reports draw: a training, times and entropies, as they were stored; what they are made of; damage. */
#include "test.h"
#include "elegans/elegans.h"

#include <locale.h>
#include <math.h>

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error = {0};
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    return context;
}

static const char TITLE[] = "a <b> & \"c\"";
static const char BYTES[] = "aaaaaaaabbbbbbbbabcdefgh";
enum { BYTE_COUNT = sizeof BYTES - 1, WINDOW = 8 };

static eg_status draw_fit(eg_context *context, eg_report **out, eg_error *error) {
    eg_fit_epoch epochs[] = {{.loss = 4, .validation = 5},
                             {.loss = 1, .validation = 2},
                             {.loss = 0.5, .validation = NAN},
                             {.loss = 0.25, .validation = 0.5}};
    const eg_fit_result result = {
        .best_epoch = 4, .best = 0.5, .history_count = 4, .history = epochs};
    return eg_report_of_fit(context, &result, out, error);
}

static eg_status draw_times(eg_context *context, eg_report **out, eg_error *error) {
    static const double seconds[] = {3e-6, 1.5e-6, 2e-6};
    return eg_report_of_times(context, TITLE, seconds, 3, out, error);
}

/* Not in order, two in one second, one without an interval, one that is no time, two baselines. */
static eg_status draw_history(eg_context *context, eg_report **out, eg_error *error) {
    const eg_report_run runs[] = {{1772374800, 2.1e-6, 2e-6, 2.2e-6, "before <the> rewrite"},
                                  {1772374800, 2.3e-6, NAN, NAN, NULL},
                                  {1774966800, 1.4e-6, 1.35e-6, 1.45e-6, "after"},
                                  {1773500000, NAN, NAN, NAN, "damaged"},
                                  {1773600000, 1.9e-6, 1.85e-6, 1.96e-6, NULL}};
    return eg_report_of_history(context, TITLE, runs, 5, out, error);
}

/* Four patches of six bytes. */
static eg_status draw_entropy(eg_context *context, eg_report **out, eg_error *error) {
    float entropies[BYTE_COUNT];
    eg_entropy_curve *curve;
    *out = NULL;
    eg_status status = eg_entropy_of(context, BYTES, BYTE_COUNT, WINDOW, entropies, error);
    if (status) return status;
    status = eg_entropy_curve_create(context, 0.25, 0.75, &curve, error);
    if (!status) eg_entropy_curve_add(curve, entropies, BYTE_COUNT);
    for (int i = 0; i < 4 && !status; i++) status = eg_entropy_curve_add_patch(curve, 6, error);
    if (!status) status = eg_report_of_entropy(curve, TITLE, WINDOW, 1, out, error);
    eg_entropy_curve_destroy(curve);
    return status;
}

static const struct {
    const char *name;
    eg_status (*draw)(eg_context *context, eg_report **out, eg_error *error);
} pictures[] = {{"fit.svg", draw_fit},
                {"times.svg", draw_times},
                {"history.svg", draw_history},
                {"entropy.svg", draw_entropy}};
enum { PICTURES = sizeof pictures / sizeof *pictures };

TEST(report, pictures_as_stored) {
    eg_context *context = context_new();
    for (size_t i = 0; i < PICTURES; i++) {
        char path[64];
        eg_report *report;
        eg_error error = {0};
        size_t length, got = 0;
        snprintf(path, sizeof path, "fixtures/reports/%s", pictures[i].name);
        CHECK_OK(pictures[i].draw(context, &report, &error), error);
        const char *text = eg_report_text(report, &length);
        char *stored = test_alloc(length + 1);
        FILE *file = fopen(test_path(path), "r");
        if (file) got = fread(stored, 1, length + 1, file);
        if (file) fclose(file);
        CHECK(got == length && memcmp(stored, text, length) == 0, "%s is another picture:\n%s",
              path, text);
        free(stored);
        eg_report_destroy(report);
    }
    eg_context_destroy(context);
}

TEST(report, pictures_in_a_comma_locale) {
    eg_context *context = context_new();
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) test_skip("no locale with a decimal comma");
    eg_report *commas[PICTURES], *points[PICTURES];
    eg_error error = {0};
    for (size_t i = 0; i < PICTURES; i++)
        CHECK_OK(pictures[i].draw(context, &commas[i], &error), error);
    setlocale(LC_NUMERIC, "C");
    for (size_t i = 0; i < PICTURES; i++) {
        CHECK_OK(pictures[i].draw(context, &points[i], &error), error);
        CHECK(strcmp(eg_report_text(commas[i], NULL), eg_report_text(points[i], NULL)) == 0,
              "%s: another text in another locale", pictures[i].name);
        eg_report_destroy(commas[i]);
        eg_report_destroy(points[i]);
    }
    eg_context_destroy(context);
}

/* Nothing to draw, one value, values that are not finite: a picture without them. */
TEST(report, pictures_of_little) {
    eg_context *context = context_new();
    eg_report *report;
    eg_entropy_curve *curve;
    eg_error error = {0};
    eg_fit_epoch epoch = {.loss = NAN, .validation = INFINITY};
    const eg_fit_result none = {.epochs = 0}, one = {.history_count = 1, .history = &epoch};
    const eg_fit_result *const results[] = {&none, &one};
    for (int i = 0; i < 2; i++) {
        CHECK_OK(eg_report_of_fit(context, results[i], &report, &error), error);
        CHECK(strstr(eg_report_text(report, NULL), "class=\"training\" points=\"\"/>") &&
                  !strstr(eg_report_text(report, NULL), "nan"),
              "%d: %s", i, eg_report_text(report, NULL));
        eg_report_destroy(report);
    }
    CHECK_OK(eg_report_of_times(context, "", NULL, 0, &report, &error), error);
    CHECK(strstr(eg_report_text(report, NULL), "points=\"\"/>"), "points of no times");
    eg_report_destroy(report);
    const eg_report_run strange[] = {{0, NAN, NAN, NAN, "a"},
                                     {INT64_C(253402300799), INFINITY, 0, 1, NULL},
                                     {5, 0, 0, 0, ""},
                                     {6, 1e300, -1e300, 1e308, "\xc3"}};
    for (size_t i = 0; i <= 4; i++) {
        CHECK_OK(eg_report_of_history(context, "", strange, i, &report, &error), error);
        CHECK(!strstr(eg_report_text(report, NULL), "nan") &&
                  !strstr(eg_report_text(report, NULL), "inf"),
              "%zu: %s", i, eg_report_text(report, NULL));
        eg_report_destroy(report);
    }
    CHECK_OK(eg_entropy_curve_create(context, 0, 1, &curve, &error), error);
    CHECK_OK(eg_report_of_entropy(curve, "", 256, 0, &report, &error), error);
    CHECK(strstr(eg_report_text(report, NULL), ">0 bytes, window of 256<") &&
              !strstr(eg_report_text(report, NULL), "<poly"),
          "%s", eg_report_text(report, NULL));
    eg_report_destroy(report);
    eg_entropy_curve_destroy(curve);
    eg_context_destroy(context);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    while ((text = strstr(text, part))) count++, text += strlen(part);
    return count;
}

/* Dates that suit the span, a marker per run, names of baselines, and the line of the newest of them. */
TEST(report, history_axis) {
    static const struct {
        int64_t span; /* seconds between runs */
        const char *labels[2];
    } rows[] = {{0, {">14:20</text>", ">2026-03-01</text>"}},
                {1, {">14:20:05</text>", ">2026-03-01</text>"}},
                {40, {">14:20</text>", ">2026-03-01</text>"}},
                {600, {">15:00</text>", ">2026-03-01</text>"}},
                {9000, {">00:00</text>", ">2026-03-02</text>"}},
                {86400, {">2026-03-02</text>", ">2026-03-04</text>"}},
                {86400 * 20, {">2026-05</text>", ">2026-06</text>"}},
                {86400 * 400, {">2028</text>", ">2034</text>"}},
                {INT64_C(7900000000), {">3000</text>", ">4000</text>"}}};
    enum { RUNS = 10 };
    eg_context *context = context_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_report_run runs[RUNS];
        eg_report *report;
        eg_error error = {0};
        for (int k = 0; k < RUNS; k++)
            runs[k] = (eg_report_run){1772374800 + k * rows[i].span, 1e-6 * (k + 1), NAN, NAN,
                                      k % 4 == 1 ? "b" : NULL};
        CHECK_OK(eg_report_of_history(context, "t", runs, RUNS, &report, &error), error);
        const char *text = eg_report_text(report, NULL);
        for (int k = 0; k < 2; k++)
            CHECK(strstr(text, rows[i].labels[k]), "%lld: no '%s' in\n%s", (long long)rows[i].span,
                  rows[i].labels[k], text);
        /* one more each is the legend */
        CHECK(count_of(text, "<circle class=\"run\"") == 7 + 1 &&
                  count_of(text, "<path class=\"baseline\"") == 3 + 1 &&
                  count_of(text, "class=\"level\"") == 1 && strstr(text, ">us</text>"),
              "%s", text);
        CHECK(count_of(text, "class=\"axis\"") <= 10, "%zu ticks of %lld",
              count_of(text, "class=\"axis\""), (long long)rows[i].span);
        eg_report_destroy(report);
    }
    eg_context_destroy(context);
}

TEST(report, picture_arguments) {
    eg_context *context = context_new();
    eg_report *report = (eg_report *)&report;
    eg_entropy_curve *curve;
    eg_error error = {0};
    const double seconds = 1;
    const eg_fit_result empty = {.history_count = 0}, torn = {.history_count = 2};
    CHECK_FAILS(eg_report_of_fit(NULL, &empty, &report, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK(!report, "a report after a failure");
    CHECK_FAILS(eg_report_of_fit(context, NULL, &report, &error), error, EG_ERR_ARGUMENT,
                "no result");
    CHECK_FAILS(eg_report_of_fit(context, &torn, &report, &error), error, EG_ERR_ARGUMENT,
                "'2' epochs");
    CHECK_FAILS(eg_report_of_fit(context, &empty, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_report_of_times(NULL, "", &seconds, 1, &report, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_report_of_times(context, NULL, &seconds, 1, &report, &error), error,
                EG_ERR_ARGUMENT, "no title");
    CHECK_FAILS(eg_report_of_times(context, "", NULL, 1, &report, &error), error, EG_ERR_ARGUMENT,
                "'1' times");
    CHECK_FAILS(eg_report_of_times(context, "", &seconds, 1, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    const eg_report_run late = {INT64_C(253402300800), 1, 1, 1, NULL}, early = {-1, 1, 1, 1, NULL};
    CHECK_FAILS(eg_report_of_history(NULL, "", &late, 1, &report, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_report_of_history(context, NULL, &late, 1, &report, &error), error,
                EG_ERR_ARGUMENT, "no title");
    CHECK_FAILS(eg_report_of_history(context, "", NULL, 3, &report, &error), error, EG_ERR_ARGUMENT,
                "'3' runs, and no list");
    CHECK_FAILS(eg_report_of_history(context, "", &late, 1, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_report_of_history(context, "", &late, 1, &report, &error), error,
                EG_ERR_ARGUMENT, "run 0 was measured at '253402300800'");
    CHECK_FAILS(eg_report_of_history(context, "", &early, 1, &report, &error), error,
                EG_ERR_ARGUMENT, "run 0 was measured at '-1'");
    CHECK_FAILS(eg_report_of_entropy(NULL, "", 8, 0, &report, &error), error, EG_ERR_ARGUMENT,
                "no curve");
    CHECK_FAILS(eg_entropy_curve_create(NULL, 0, 1, &curve, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_entropy_curve_create(context, 0, 1, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_OK(eg_entropy_curve_create(context, 0, 1, &curve, &error), error);
    CHECK_FAILS(eg_report_of_entropy(curve, "", 8, 0, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_report_of_entropy(curve, NULL, 8, 0, &report, &error), error, EG_ERR_ARGUMENT,
                "no title");
    CHECK_FAILS(eg_entropy_curve_add_patch(curve, 1, &error), error, EG_ERR_ARGUMENT,
                "a patch ends at '1', the entropies at 0");
    eg_entropy_curve_destroy(curve);
    eg_entropy_curve_destroy(NULL);
    eg_context_destroy(context);
}

/* A curve that was halved says what a sum over all entropies says, whatever the pieces they come in. */
TEST(report, curve_of_a_long_input) {
    static const size_t pieces[] = {1, 7, 1000, 100000};
    enum { COUNT = 100000, PATCH = 40 };
    float *entropies = test_alloc(COUNT * sizeof *entropies);
    double sum = 0;
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < COUNT; i++) {
        entropies[i] = (float)(i * 37 % 1024) / 1024;
        sum += (double)entropies[i];
        low += entropies[i] <= 0.25F;
        high += entropies[i] >= 0.75F;
    }
    eg_context *context = context_new();
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        eg_entropy_curve *curve;
        eg_error error = {0};
        eg_entropy_curve_info c = {.size = sizeof c};
        CHECK_OK(eg_entropy_curve_create(context, 0.25, 0.75, &curve, &error), error);
        for (size_t at = 0; at < COUNT; at += pieces[p])
            eg_entropy_curve_add(curve, entropies + at,
                                 pieces[p] < COUNT - at ? pieces[p] : COUNT - at);
        for (int i = 0; i < COUNT / PATCH; i++)
            CHECK_OK(eg_entropy_curve_add_patch(curve, PATCH, &error), error);
        eg_entropy_curve_info_get(curve, &c);
        CHECK(c.bytes == COUNT && c.all.count == COUNT && c.patches == COUNT / PATCH &&
                  c.column_bytes == 128 && c.column_count == (COUNT + 127) / 128,
              "%zu: %llu bytes in %zu columns of %llu", p, (unsigned long long)c.bytes,
              c.column_count, (unsigned long long)c.column_bytes);
        CHECK(c.low_bytes == low && c.high_bytes == high && c.all.sum == sum && c.all.least == 0 &&
                  c.all.most == 1023.0F / 1024,
              "%zu: sum %g", p, c.all.sum);
        CHECK(c.all.patch_sizes == (double)COUNT * PATCH && c.patch_ends[255] == 256 * PATCH,
              "%zu: patches", p);
        eg_entropy_curve_destroy(curve);
    }
    free(entropies);
    eg_context_destroy(context);
}

/* ---- every allocation that fails */
static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_status status = EG_OK;
    (void)user;
    for (size_t i = 0; i < PICTURES && !status; i++) {
        eg_report *report = NULL;
        status = pictures[i].draw(context, &report, error);
        CHECK(!status == (report != NULL), "a report and a status");
        eg_report_destroy(report);
    }
    return status;
}

TEST(report, picture_memory) {
    const int failed = test_every_allocation_within(attempt, NULL);
    CHECK(failed > 8, "%d allocations", failed);
}
