/* Two runs compared: the document and the pages of it, what is judged how, and whatever is wrong with either run. */
#include "test.h"
#include "elegans/elegans.h"

#include <locale.h>

/* the area is in test_report.c */

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error = {0};
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    return context;
}

static char *file_read(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "fixtures/reports/%s", name);
    FILE *file = fopen(test_path(path), "rb");
    CHECK(file, "no %s", path);
    char *text = test_alloc(1 << 20);
    const size_t length = file ? fread(text, 1, (1 << 20) - 1, file) : 0;
    text[length] = 0;
    if (file) fclose(file);
    return text;
}

static eg_status diff(eg_context *context, const char *before, const char *after,
                      const eg_report_diff_options *options, eg_report **out, eg_error *error) {
    const char *const given[] = {before, after};
    char *exact[2];
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(given[i]);
        exact[i] = test_alloc(length ? length : 1);
        memcpy(exact[i], given[i], length);
    }
    const eg_status status = eg_report_diff_texts(context, exact[0], strlen(before), exact[1],
                                                  strlen(after), options, out, error);
    CHECK(!status == (*out != NULL), "a report and a status");
    free(exact[0]);
    free(exact[1]);
    return status;
}

/* `from` once replaced by `to`; to be freed. */
static char *changed(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    char *out = test_alloc(strlen(text) + strlen(to) + 1);
    CHECK(at, "no '%s' to be changed", from);
    if (!at) at = text + strlen(text), from = "";
    sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static const eg_report_diff_options ways[] = {
    {.format = EG_REPORT_JSON, .digits = 10, .old_name = "old", .new_name = "new"},
    {.format = EG_REPORT_MARKDOWN, .old_name = "old", .new_name = "new"},
    {.format = EG_REPORT_HTML, .digits = 17, .old_name = "old", .new_name = "new"}};
static const char *const stored[] = {"diff.json", "diff.md"};

static void check_stored(eg_context *context) {
    for (int i = 0; i < 2; i++) {
        char *before = file_read("before.json"), *after = file_read("after.json"),
             *wanted = file_read(stored[i]);
        eg_report *report;
        eg_error error = {0};
        CHECK_OK(diff(context, before, after, &ways[i], &report, &error), error);
        const char *text = report ? eg_report_text(report, NULL) : "";
        size_t same = 0;
        while (text[same] && text[same] == wanted[same]) same++;
        /* a file ends with a newline */
        CHECK(!text[same] && (!wanted[same] || strcmp(wanted + same, "\n") == 0),
              "%s, byte %zu: '%.60s', not '%.60s'", stored[i], same, text + same, wanted + same);
        eg_report_destroy(report);
        free(before);
        free(after);
        free(wanted);
    }
}

TEST(report, diff_as_stored) {
    eg_context *context = context_new();
    check_stored(context);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) check_stored(context);
    setlocale(LC_NUMERIC, "C");
    eg_context_destroy(context);
}

/* Every kind of judgement, and that of its row. */
TEST(report, diff_judgements) {
    static const char *const rows[] = {
        "| p50 | 401.7 ns | 321.8 ns | -19.9 % | faster |",
        "| add fused | 1x2 | 146.8 ns | 58.7 ns | -60.0 % | faster |",
        "| scan scan | 1x1 | 57.5 ns | 58.1 ns | +1.0 % | within noise |",
        "| matmul gemm to gemv | 1x8x2 | 28.0 ns | 41.9 ns | +50.0 % | slower |",
        "| broadcast copy | 1x2 | 33.9 ns | - | - | only in the first |",
        "| exp fused | 1x1 | - | 20.0 ns | - | only in the second |",
        "| +25.0 % | faster | measured |",
        "| flops | 80 FLOP | 80 FLOP | 0 % | equal | counted |",
        "| peak_memory | 200.3 KiB | 201.3 KiB | +0.5 % | changed | counted |",
        "| compile_time | 304.4 us | 608.9 us | +100.0 % | one measurement each | measured |",
        "| bytes_moved | 300 B | 300 B | 0 % | other provenance | counted, modelled |",
        "| cache_hits | 2 programs | - | - | only in the first | counted, unavailable |",
        "| threads | 1 | 2 |",
        "| power | mains | battery |",
        "may come from there: threads: 1 and 2; power: mains and battery\n",
        "**new is 19.9 % faster than old: "};
    eg_context *context = context_new();
    char *before = file_read("before.json"), *after = file_read("after.json");
    eg_report *report;
    eg_error error = {0};
    CHECK_OK(diff(context, before, after, &ways[1], &report, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(strstr(eg_report_text(report, NULL), rows[i]), "no '%s' in\n%s", rows[i],
              eg_report_text(report, NULL));
    eg_report_destroy(report);
    /* the other way round it is slower; with itself nothing changed */
    CHECK_OK(diff(context, after, before, &ways[1], &report, &error), error);
    CHECK(strstr(eg_report_text(report, NULL), "**new is 24.8 % slower than old: "), "%.200s",
          eg_report_text(report, NULL));
    eg_report_destroy(report);
    CHECK_OK(diff(context, before, before, &ways[1], &report, &error), error);
    const char *text = eg_report_text(report, NULL);
    CHECK(strstr(text, "**no difference beyond noise: ") && !strstr(text, "may come from") &&
              !strstr(text, "| changed |") && !strstr(text, "| slower |"),
          "%s", text);
    eg_report_destroy(report);
    /* an effect that is larger than the change */
    const eg_compare_options coarse = {.effect = 0.7};
    const eg_report_diff_options options = {.format = EG_REPORT_MARKDOWN, .compare = &coarse};
    CHECK_OK(diff(context, before, after, &options, &report, &error), error);
    text = eg_report_text(report, NULL);
    CHECK(strstr(text, "**no difference beyond noise: a run takes 401.7 ns in A and ") &&
              !strstr(text, "| faster |"),
          "%s", text);
    eg_report_destroy(report);
    free(before);
    free(after);
    eg_context_destroy(context);
}

/* Structure: every column and row has a header, every picture a name, nothing is fetched, all text is escaped. */
TEST(report, diff_page) {
    static const char *const there[] = {
        "<div class=\"verdict better\">",
        "<th scope=\"row\">. matmul gemm \u2192 gemv</th>",
        "<td class=\"t worse\"><b>slower</b></td>",
        "<b>Not the same environment</b>",
        "aria-label=\"median times of both\"",
        "aria-label=\"what changed by operation\"",
        "role=\"region\" tabindex=\"0\"",
        "<script type=\"application/json\" id=\"diff\">{\"elegans_diff\":1,",
        "2026-03-01 14:20 UTC",
        "2\u202f463\u202f054 samples/s",
        "</main></body></html>\n"};
    static const char *const not_there[] = {"http", "<td></th>", ">nan",   " nan",
                                            "<th>", "src=",      "@import"};
    eg_context *context = context_new();
    char *before = file_read("before.json"), *after = file_read("after.json");
    eg_report *report;
    eg_error error = {0};
    CHECK_OK(diff(context, before, after, &ways[2], &report, &error), error);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        CHECK(strstr(eg_report_text(report, NULL), there[i]), "no '%s'", there[i]);
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        CHECK(!strstr(eg_report_text(report, NULL), not_there[i]), "'%s'", not_there[i]);
    eg_report_destroy(report);
    char *evil = changed(after, "\"model\":\"", "\"model\":\"<script>|\\n# ");
    const eg_report_diff_options any = {.any_model = 1, .old_name = "<script>", .new_name = "\x1b"};
    CHECK_OK(diff(context, before, evil, &any, &report, &error), error);
    CHECK(!strstr(eg_report_text(report, NULL), "<script>"), "text became marks");
    eg_report_destroy(report);
    free(evil);
    free(before);
    free(after);
    eg_context_destroy(context);
}

TEST(report, diff_damage) {
    static const struct {
        const char *from, *to; /* in the second */
        eg_status status;
        const char *message;
    } rows[] = {
        {"{", "", EG_ERR_FORMAT, "in 'new'"},
        {"\"elegans_profile\":1", "\"elegans_profile\":2", EG_ERR_FORMAT,
         "no profile of version 1 in 'new'"},
        {"\"samples\":[", "\"other\":[", EG_ERR_FORMAT,
         "no times of runs ('time.samples') in 'new'"},
        {"\"samples\":[", "\"samples\":[1,0,", EG_ERR_FORMAT,
         "sample 1 of 'time.samples' is '0', not a time in 'new'"},
        {"\"samples\":[", "\"samples\":[null,", EG_ERR_FORMAT,
         "sample 0 of 'time.samples' is 'no number', not a time in 'new'"},
        {"\"model\":\"cfc:2", "\"model\":\"cfc:3", EG_ERR_ARGUMENT,
         "two models: 'cfc:2,in=1,backbone=0' in 'old', 'cfc:3,in=1,backbone=0' in 'new'"},
        {"\"batch\":1", "\"batch\":32", EG_ERR_ARGUMENT, "batch is '1' in 'old' and '32' in 'new'"},
        {"\"seq\":1", "\"seq\":2", EG_ERR_ARGUMENT, "seq is '1' in 'old' and '2' in 'new'"}};
    eg_context *context = context_new();
    char *before = file_read("before.json"), *after = file_read("after.json");
    eg_report *report;
    eg_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *bad = changed(after, rows[i].from, rows[i].to);
        CHECK_FAILS(diff(context, before, bad, &ways[0], &report, &error), error, rows[i].status,
                    rows[i].message);
        if (rows[i].status == EG_ERR_ARGUMENT) {
            const eg_report_diff_options any = {.any_model = 1};
            CHECK_OK(diff(context, before, bad, &any, &report, &error), error);
            eg_report_destroy(report);
        } else /* the first is named as well */
            CHECK_FAILS(diff(context, bad, after, &ways[0], &report, &error), error, EG_ERR_FORMAT,
                        "in 'old'");
        free(bad);
    }
    /* what is missing is left out, in every form */
    static const char least[] = "{\"elegans_profile\":1,\"time\":{\"samples\":[1e-6]}}";
    for (int i = 0; i < 3; i++) {
        eg_report_diff_options options = ways[i];
        CHECK_OK(diff(context, least, least, &options, &report, &error), error);
        CHECK(!strstr(eg_report_text(report, NULL), ">nan") &&
                  !strstr(eg_report_text(report, NULL), " nan"),
              "%s", eg_report_text(report, NULL));
        eg_report_destroy(report);
        options.any_model = 1;
        CHECK_OK(diff(context, least, after, &options, &report, &error), error);
        eg_report_destroy(report);
    }
    free(before);
    free(after);
    eg_context_destroy(context);
}

TEST(report, diff_arguments) {
    static const char least[] = "{\"elegans_profile\":1,\"time\":{\"samples\":[1e-6]}}";
    const size_t length = sizeof least - 1;
    const eg_compare_options wild = {.alpha = 2};
    const eg_report_diff_options other = {.format = (eg_report_format)9}, bad = {.compare = &wild},
                                 small = {.size = 3};
    eg_context *context = context_new();
    eg_report *report = (eg_report *)&report;
    eg_error error = {0};
    CHECK_FAILS(eg_report_diff_texts(NULL, least, length, least, length, NULL, &report, &error),
                error, EG_ERR_ARGUMENT, "no context");
    CHECK(!report, "a report after a failure");
    CHECK_FAILS(eg_report_diff_texts(context, NULL, 0, least, length, NULL, &report, &error), error,
                EG_ERR_ARGUMENT, "no document");
    CHECK_FAILS(eg_report_diff_texts(context, least, length, least, length, NULL, NULL, &error),
                error, EG_ERR_ARGUMENT, "no output pointer");
    CHECK_FAILS(
        eg_report_diff_texts(context, least, length, least, length, &other, &report, &error), error,
        EG_ERR_ARGUMENT, "no format '9'");
    CHECK_FAILS(eg_report_diff_texts(context, least, length, least, length, &bad, &report, &error),
                error, EG_ERR_ARGUMENT, "alpha is '2'");
    CHECK_FAILS(
        eg_report_diff_texts(context, least, length, least, length, &small, &report, &error), error,
        EG_ERR_ARGUMENT, "eg_report_diff_options.size is 3 bytes");
    CHECK_FAILS(eg_report_diff_files(context, NULL, "a", NULL, &report, &error), error,
                EG_ERR_ARGUMENT, "no path");
    CHECK_FAILS(eg_report_diff_files(context, test_path("fixtures/reports/run.json"),
                                     "nowhere/run.json", NULL, &report, &error),
                error, EG_ERR_FILE, "cannot open 'nowhere/run.json'");
    /* files are called by their paths */
    char path[512];
    snprintf(path, sizeof path, "%s", test_path("fixtures/reports/run.json"));
    CHECK_OK(eg_report_diff_files(context, path, path, NULL, &report, &error), error);
    CHECK(strstr(eg_report_text(report, NULL), "fixtures/reports/run.json"), "no path");
    eg_report_destroy(report);
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    static const char least[] =
        "{\"elegans_profile\":1,\"time\":{\"samples\":[1e-6,2e-6]},\"operations\":[{\"operation\":"
        "\"add\",\"seconds\":1e-7}],\"metrics\":{\"flops\":{\"value\":1,\"unit\":\"FLOP\","
        "\"provenance\":\"counted\"}},\"machine\":{\"threads\":1}}";
    eg_report *report;
    const eg_status status = eg_report_diff_texts(context, least, sizeof least - 1, least,
                                                  sizeof least - 1, user, &report, error);
    CHECK(!status == (report != NULL), "a report and a status");
    eg_report_destroy(report);
    return status;
}

TEST(report, diff_memory) {
    for (int i = 0; i < 3; i++) {
        const int failed = test_every_allocation_within(attempt, (void *)(uintptr_t)&ways[i]);
        CHECK(failed > 10, "%d allocations", failed);
    }
}
