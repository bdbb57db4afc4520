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

/* What readers asked for: dots with names, bars on a scale of 100 %, one line for what is unavailable, advice beside
 * the verdict, headers of rows and columns, numbers in groups; never in JSON. */
TEST(report, page_structure) {
    static const char *const there[] = {
        "<section class=\"top two\"><p class=\"verdict\">bound by L1",
        "</p>\n<div class=\"next\"><h2>Recommendations</h2><ol>\n<li>50 % of the time",
        ">1 add<tspan class=\"more\"> 1x2</tspan></text>",
        "text-anchor=\"end\">100 % of a run</text>",
        "<rect class=\"bar\" x=\"0.00%\" y=\"22\" width=\"50.12%\"", /* 146.8 of 292.8 ns */
        "<rect class=\"track\" x=\"0\" y=\"22\" width=\"100%\"",
        "<details class=\"missing\"><summary>9 unavailable: cycles, instructions,",
        "<dt>energy per run</dt><dd>no /sys/class/powercap: the kernel reports no energy</dd>",
        "<b>2\u202f463\u202f054 samples/s</b>",
        "<span class=\"meter\"><i style=\"width:0.1%\"></i></span>",
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"operations\"><table><thead>",
        "<thead><tr><th scope=\"col\" class=\"t\">operation</th>",
        "<th scope=\"row\">1 . add fused</th>",
        "role=\"img\" aria-label=\"roofline\"><title>roofline</title>"};
    eg_context *context = context_new();
    eg_error error = {0};
    eg_report *report;
    const char *path = test_path("fixtures/reports/run.json");
    CHECK_OK(eg_report_of_file(context, path, NULL, &report, &error), error);
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        CHECK(strstr(eg_report_text(report, NULL), there[i]), "no '%s'", there[i]);
    const char *data = strstr(eg_report_text(report, NULL), "id=\"profile\">");
    CHECK(data && !strstr(data, "\u202f"), "groups of digits in JSON");
    CHECK(!strstr(eg_report_text(report, NULL), "class=\"mark unavailable\" title="),
          "a tile of what is unavailable");
    eg_report_destroy(report);
    eg_context_destroy(context);
}

/* Names of a roofline: none over another at any width, and none that is cut off. Widths are those of 7 pixels a letter. */
TEST(report, roofline_names) {
    enum { DOTS = 14 };
    char json[8192];
    size_t used = 0;
    used += (size_t)snprintf(json, sizeof json,
                             "{\"elegans_profile\":1,\"ceilings\":{\"fma_one\":{\"value\":100},"
                             "\"l1_one\":{\"value\":300},\"dram_one\":{\"value\":20}},"
                             "\"operations\":[");
    for (int i = 0; i < DOTS; i++) /* nearly at one place */
        used += (size_t)snprintf(
            json + used, sizeof json - used,
            "%s{\"operation\":\"matmul\",\"shape\":\"128x128x%d\",\"share\":0.07,\"intensity\":%d.%d,"
            "\"gflops\":%d}",
            i ? "," : "", i, 2 + i % 2, i, 40 + i);
    snprintf(json + used, sizeof json - used, "]}");
    eg_context *context = context_new();
    eg_report *report;
    eg_error error = {0};
    CHECK_OK(make(context, json, NULL, &report, &error), error);
    static const double widths[] = {358, 600, 640, 928};
    double at[DOTS + 1][3];
    size_t count = 0;
    const char *text = eg_report_text(report, NULL);
    while (count < DOTS && (text = strstr(text, "<text class=\"name\" "))) {
        char anchor[8] = "";
        CHECK(sscanf(text,
                     "<text class=\"name\" x=\"%lf%%\" dx=\"%lf\" y=\"%lf\" text-anchor=\"%5[a-z]",
                     &at[count][0], &at[count][1], &at[count][2], anchor) == 4,
              "%.80s", text);
        count++;
        text++;
    }
    CHECK(count >= 8, "%zu names of %d", count, DOTS);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < i; k++) {
                const double letters = widths[w] < 640 ? 9 : 20, size = 6.5 * letters;
                double x[2];
                const size_t both[] = {i, k};
                for (int n = 0; n < 2; n++) {
                    const double *p = at[both[n]];
                    x[n] = p[0] / 100 * widths[w] + p[1] - (p[1] < 0 ? size : 0);
                    CHECK(x[n] >= 0 && x[n] + size <= widths[w], "cut off at %g", widths[w]);
                }
                CHECK(x[0] >= x[1] + size || x[1] >= x[0] + size || at[i][2] >= at[k][2] + 12 ||
                          at[k][2] >= at[i][2] + 12,
                      "names %zu and %zu at a width of %g", i, k, widths[w]);
            }
    eg_report_destroy(report);
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
