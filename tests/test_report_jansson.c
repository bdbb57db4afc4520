/* Reports made of a stored document: pages as they were, whatever is wrong with the document named. */
#include "test.h"
#include "elegans/elegans.h"

#include <locale.h>

/* the area is in test_report.c */

static char *file_read(const char *name, size_t *length) {
    char path[512];
    snprintf(path, sizeof path, "fixtures/reports/%s", name);
    FILE *file = fopen(test_path(path), "rb");
    CHECK(file, "no %s", path);
    char *text = test_alloc(1 << 20);
    *length = file ? fread(text, 1, (1 << 20) - 1, file) : 0;
    text[*length] = 0;
    if (file) fclose(file);
    return text;
}

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error = {0};
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    return context;
}

static eg_status make(eg_context *context, const char *json, const eg_report_options *options,
                      eg_report **out, eg_error *error) {
    const size_t length = strlen(json);
    char *exact = test_alloc(length ? length : 1);
    memcpy(exact, json, length);
    const eg_status status = eg_report_of_text(context, exact, length, options, out, error);
    CHECK(!status == (*out != NULL), "a report and a status");
    free(exact);
    return status;
}

static const eg_report_options ways[] = {{.format = EG_REPORT_HTML, .digits = 17},
                                         {.format = EG_REPORT_MARKDOWN},
                                         {.format = EG_REPORT_JSON, .digits = 10}};
static const char *const stored[] = {"run.html", "run.md", "run.json"};

/* Pages that an earlier version made, in this locale and in one with commas. */
static void check_infile(eg_context *context) {
    eg_error error = {0};
    for (int i = 0; i < 3; i++) {
        size_t length;
        eg_report *report;
        char *wanted = file_read(stored[i], &length);
        if (i == 2) wanted[--length] = 0; /* its newline */
        CHECK_OK(eg_report_of_file(context, test_path("fixtures/reports/run.json"), &ways[i],
                                   &report, &error),
                 error);
        const char *text = report ? eg_report_text(report, NULL) : "";
        size_t same = 0;
        while (text[same] && text[same] == wanted[same]) same++;
        CHECK(!text[same] && !wanted[same], "%s, byte %zu: '%.40s', not '%.40s'", stored[i], same,
              text + same, wanted + same);
        eg_report_destroy(report);
        free(wanted);
    }
}

TEST(report, pages) {
    eg_context *context = context_new();
    check_infile(context);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) check_infile(context);
    setlocale(LC_NUMERIC, "C");
    eg_context_destroy(context);
}

/* Of a profile the same pages as of its document. */
TEST(report, pages_of_a_profile) {
    eg_context *context = context_new();
    eg_model *model;
    eg_profile *profile;
    eg_analysis *analysis;
    eg_report *document, *direct, *stored_page;
    eg_error error = {0};
    const eg_profile_options few = {.runs = 5, .seq = 2, .no_ceilings = 1};
    CHECK_OK(eg_model_open(context, "cfc:8,in=3", &model, &error), error);
    CHECK_OK(eg_profile_model(model, "cfc:8,in=3", &few, &profile, &error), error);
    CHECK_OK(eg_analyse(profile, &analysis, &error), error);
    const eg_report_options json = {.format = EG_REPORT_JSON};
    CHECK_OK(eg_report_of_profile(profile, analysis, &json, &document, &error), error);
    for (int i = 0; i < 4; i++) {
        const eg_report_options options = {.format = i % 2 ? EG_REPORT_MARKDOWN : EG_REPORT_HTML,
                                           .basic = i / 2};
        CHECK_OK(eg_report_of_profile(profile, i ? analysis : NULL, &options, &direct, &error),
                 error);
        CHECK_OK(make(context, eg_report_text(document, NULL), &options, &stored_page, &error),
                 error);
        const char *text = eg_report_text(direct, NULL);
        CHECK(strcmp(text, eg_report_text(stored_page, NULL)) == 0, "way %d: two pages", i);
        CHECK(!strstr(text, i % 2 ? "## Ratios" : "<h2>Ratios") == (options.basic != 0),
              "way %d: ratios", i);
        eg_report_destroy(direct);
        eg_report_destroy(stored_page);
    }
    eg_report_destroy(document);
    eg_analysis_destroy(analysis);
    eg_profile_destroy(profile);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(report, damage) {
    static const struct {
        const char *json;
        eg_status status;
        const char *message;
    } rows[] = {
        {"", EG_ERR_FORMAT, "bad JSON at byte 0, line 1: '{' or '[' expected near 'the end'"},
        {"{\"a\": 1}", EG_ERR_FORMAT, "no profile of version 1"},
        {"[]", EG_ERR_FORMAT, "no profile of version 1"},
        {"{\"elegans_profile\": 2}", EG_ERR_FORMAT, "no profile of version 1"},
        {"{\"elegans_profile\": \"1\"}", EG_ERR_FORMAT, "no profile of version 1"},
        {"{\"elegans_profile\": 1,\n \"model\": }", EG_ERR_FORMAT, "line 2: no value near '}'"},
        {"{\"elegans_profile\": 1, \"elegans_profile\": 1}", EG_ERR_FORMAT, "duplicate object key"},
        {"{\"elegans_profile\": 1} x", EG_ERR_FORMAT, "something behind the document near 'x'"},
        {"{\"elegans_profile\": 1, \"a\": 1e999}", EG_ERR_OVERFLOW, "a number that does not fit"},
        {"{\"elegans_profile\": 1, \"model\": \"caf\xe9\"}", EG_ERR_FORMAT, "not UTF-8"},
        {"{\"elegans_profile\": 1, \"deep\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]"
         "]]]]]]]]]]]]]]]]]]]]]]]]}",
         EG_ERR_FORMAT, "values nested more than 32 deep in 'deep'"},
    };
    eg_context *context = context_new();
    eg_error error = {0};
    eg_report *report;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_FAILS(make(context, rows[i].json, NULL, &report, &error), error, rows[i].status,
                    rows[i].message);
    /* a file is named, too */
    char path[512];
    snprintf(path, sizeof path, "%s/bad.json", test_folder());
    FILE *file = fopen(path, "w");
    CHECK(file && fputs("{\"a\": 1}", file) >= 0 && fclose(file) == 0, "cannot write");
    CHECK_FAILS(eg_report_of_file(context, path, NULL, &report, &error), error, EG_ERR_FORMAT,
                "no profile of version 1 in '");
    /* no part of a document is one */
    size_t length;
    char *whole = file_read("run.json", &length);
    for (size_t cut = 0; cut + 1 < length; cut += test_quick() ? 997 : 97) {
        const eg_status status = eg_report_of_text(context, whole, cut, NULL, &report, &error);
        CHECK(status == EG_ERR_FORMAT && !report, "%zu bytes: %s", cut, eg_status_name(status));
    }
    free(whole);
    eg_context_destroy(context);
}

/* What is missing or of another kind is left out; text of a profile is text, wherever it stands. */
TEST(report, strange_documents) {
    static const char *const rows[] = {
        "{\"elegans_profile\":1}",
        "{\"elegans_profile\":1.0,\"model\":3,\"time\":[],\"metrics\":7,\"operations\":{\"a\":1}}",
        "{\"elegans_profile\":1,\"operations\":[1,{\"share\":-1,\"intensity\":1e300,\"gflops\":1e-300}],"
        "\"time\":{\"samples\":[1,\"a\",-1,0],\"min\":0,\"max\":1},\"machine\":{\"threads\":1e300},"
        "\"ceilings\":{\"fma_all\":{\"value\":1e-300}},\"devices\":[3,{\"seconds\":0}]}",
        "{\"elegans_profile\":1,\"arena\":{\"planned\":1e30,\"steps\":[{\"live\":-1e30}]},"
        "\"memory_over_time\":{\"moments\":[{\"by_tag\":{\"a\":1e25},\"held\":1e25,\"peak\":-1}]},"
        "\"metrics\":{\"a\":{\"value\":1e300,\"unit\":\"B\"},\"b\":{\"value\":-1e-9,\"unit\":\"s\"}}}",
        "{\"elegans_profile\":1,\"model\":\"<script>|\\n# a\\u001b\",\"verdict\":\"<script>|\\n# a\","
        "\"machine\":{\"<script>\":\"<script>\"},\"recommendations\":[{\"text\":\"<script>|\\n# a\"}],"
        "\"metrics\":{\"tflops\":{\"value\":1,\"unit\":\"<script>|\\n# a\",\"provenance\":\"<script>\"}}}"};
    eg_context *context = context_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int way = 0; way < 3; way++) {
            eg_report *report;
            eg_error error = {0};
            CHECK_OK(make(context, rows[i], &ways[way], &report, &error), error);
            const char *text = report ? eg_report_text(report, NULL) : "";
            if (way == 0)
                CHECK(!strstr(text, "<script>") && strstr(text, "</body></html>\n"),
                      "row %zu: text became marks", i);
            if (way == 1)
                CHECK(strstr(text, "# ") == text && !strstr(text, "\n# ") &&
                          !strchr(text, '\x1b') && !strstr(text, "| <script>"),
                      "row %zu: text became Markdown", i);
            eg_report_destroy(report);
        }
    eg_context_destroy(context);
}

static eg_status attempt(void *user, eg_context *context, eg_error *error) {
    eg_report *report;
    const eg_status status =
        eg_report_of_file(context, test_path("fixtures/reports/run.json"), user, &report, error);
    CHECK(!status == (report != NULL), "a report and a status");
    eg_report_destroy(report);
    return status;
}

TEST(report, memory) {
    for (int i = 0; i < 3; i++) {
        const int failed = test_every_allocation_within(attempt, (void *)(uintptr_t)&ways[i]);
        CHECK(failed > 10, "%d allocations", failed);
    }
}
