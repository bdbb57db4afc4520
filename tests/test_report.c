/* Reports that need no parser: the document of a profile, pictures of wirings, files. */
#include "test.h"
#include "elegans/elegans.h"
#include "memory/memory.h"

#include <locale.h>

AREA(report,
     "a profile as its document, a wiring as a picture; pages as they were stored, damage named")

static eg_context *context_new(void) {
    eg_context *context = NULL;
    eg_error error = {0};
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    CHECK_OK(eg_context_create(&one, &context, &error), error);
    return context;
}

static eg_profile *profile_new(eg_context *context, const char *name) {
    static const char spec[] = "cfc:autoncp:8:2,in=3";
    eg_profile *profile = NULL;
    eg_model *model;
    eg_error error = {0};
    const eg_profile_options options = {
        .batch = 2, .seq = 3, .runs = 5, .no_ceilings = 1, .no_cache = 1};
    CHECK_OK(eg_model_open(context, spec, &model, &error), error);
    CHECK_OK(eg_profile_model(model, name ? name : spec, &options, &profile, &error), error);
    eg_model_destroy(model);
    return profile;
}

static char *text_of(const eg_profile *profile, const eg_report_options *options) {
    eg_report *report;
    eg_error error = {0};
    size_t length = 0;
    CHECK_OK(eg_report_of_profile(profile, NULL, options, &report, &error), error);
    if (!report) return strdup("");
    char *text = strdup(eg_report_text(report, &length));
    CHECK(length == strlen(text), "%zu bytes of %zu", length, strlen(text));
    eg_report_destroy(report);
    return text;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    while ((text = strstr(text, part))) count++, text += strlen(part);
    return count;
}

TEST(report, document) {
    static const char *const always[] = {
        "{\"elegans_profile\":1,\"model\":\"cfc:autoncp:8:2,in=3\",\"batch\":2,\"seq\":3,",
        "\"compiled\":true,\"verdict\":\"",
        "\"ratios\":[{\"name\":\"compute\"",
        "\"measured_at\":",
        "\"machine\":{\"chip\":",
        "\"power\":",
        "\"governor\":",
        "\"build\":\"",
        "\"time_median\":{\"value\":",
        "\"ne_cycles\":{\"value\":null,\"unit\":\"cycles\",\"provenance\":\"unavailable\",\"reason\":",
        "\"time\":{\"unit\":\"s\",\"provenance\":\"measured\",\"runs\":5"};
    static const struct {
        unsigned part;
        const char *key;
    } parts[] = {
        {EG_REPORT_COMPUTE, "\"operations\":["},    {EG_REPORT_COMPUTE, "}],\"steps\":["},
        {EG_REPORT_MEMORY, "\"memory_in_runs\":{"}, {EG_REPORT_MEMORY, "\"arena\":{"},
        {EG_REPORT_MEMORY, "\"moments\":["},        {EG_REPORT_HARDWARE, "\"hardware\":{"}};
    eg_context *context = context_new();
    eg_profile *profile = profile_new(context, NULL);
    for (unsigned wanted = 0; wanted < 8; wanted++) {
        const eg_report_options options = {
            .size = sizeof options, .format = EG_REPORT_JSON, .parts = wanted};
        char *text = text_of(profile, &options);
        for (size_t i = 0; i < sizeof always / sizeof *always; i++)
            CHECK(strstr(text, always[i]), "parts %u: no '%s'", wanted, always[i]);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            CHECK(!strstr(text, parts[i].key) == (wanted && !(wanted & parts[i].part)),
                  "parts %u: '%s'", wanted, parts[i].key);
        }
        CHECK(!strchr(text, '\n') && !strstr(text, "\": ") && !strstr(text, "devices"),
              "more than one line, blanks or devices");
        free(text);
    }
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

/* Digits are cut where it is asked for; lines are indented by two; bytes that are no text can be seen. */
TEST(report, document_forms) {
    eg_context *context = context_new();
    eg_profile *profile = profile_new(context, "caf\xe9 \x1b");
    eg_report_device *device = test_alloc(sizeof *device);
    *device = (eg_report_device){.name = "M1 \"x\""};
    const eg_report_options options = {.size = sizeof options,
                                       .format = EG_REPORT_JSON,
                                       .indented = 1,
                                       .digits = 3,
                                       .device_count = 1,
                                       .devices = device};
    char *text = text_of(profile, &options);
    CHECK(strncmp(text, "{\n  \"elegans_profile\": 1,\n  \"model\": \"caf\\\\xe9 \\u001b\",\n",
                  52) == 0,
          "%.60s", text);
    CHECK(strstr(text, "\n  \"devices\": [\n    {\n      \"name\": \"M1 \\\"x\\\"\","),
          "no device");
    CHECK(strcmp(text + strlen(text) - 2, "\n}") == 0, "no end");
    const char *samples = strstr(text, "\"samples\": [");
    CHECK(samples && strcspn(samples + 20, ",") < 10, "more than three digits: %.40s", samples);
    free(text);
    free(device);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

static void nothing(void *user) { (void)user; }

TEST(report, document_of_a_callback) {
    eg_context *context = context_new();
    eg_profile *profile;
    eg_error error = {0};
    const eg_profile_options few = {.runs = 3, .no_ceilings = 1};
    CHECK_OK(eg_profile_callback(context, "mine", nothing, NULL, &few, &profile, &error), error);
    char *text = text_of(profile, &(eg_report_options){.format = EG_REPORT_JSON});
    CHECK(strstr(text, "\"operations\":[]") && !strstr(text, "\"arena\":{"), "%.200s", text);
    free(text);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

TEST(report, picture) {
    static const struct {
        const char *spec, *titles[3];
    } rows[] = {{"autoncp:12:3,in=4", {">inter</text>", ">command</text>", ">motor</text>"}},
                {"full:3,in=2", {">units</text>", "from units 2", "from sensory 1"}}};
    eg_context *context = context_new();
    for (size_t i = 0; i < 2; i++) {
        eg_wiring *wiring;
        eg_wiring_statistics s;
        eg_report *report;
        eg_error error = {0};
        CHECK_OK(eg_wiring_create(context, rows[i].spec, &wiring, &error), error);
        CHECK_OK(eg_report_of_wiring(wiring, "a <b> & c\n", &report, &error), error);
        CHECK_OK(eg_wiring_statistics_get(wiring, &s, &error), error);
        const char *text = eg_report_text(report, NULL);
        CHECK(strncmp(text, "<svg ", 5) == 0 && strstr(text, "</svg>\n")[7] == 0, "no picture");
        CHECK(strstr(text, "<title>a &lt;b> &amp; c </title>"), "the title is not escaped");
        for (int k = 0; k < 3; k++)
            CHECK(strstr(text, rows[i].titles[k]), "no '%s'", rows[i].titles[k]);
        /* two more are the legend */
        CHECK(count_of(text, "<path class=\"") == s.synapses + s.sensory_synapses + 2, "%zu lines",
              count_of(text, "<path class=\""));
        eg_report_destroy(report);
        eg_wiring_destroy(wiring);
    }
    eg_context_destroy(context);
}

TEST(report, layer_names) {
    eg_wiring_info info = {.layers = 2};
    CHECK(strcmp(eg_wiring_layer_name(&info, 0), "hidden") == 0 &&
              strcmp(eg_wiring_layer_name(&info, 1), "motor") == 0 &&
              !eg_wiring_layer_name(&info, 2),
          "names of two layers");
    info.layers = 7;
    CHECK(!eg_wiring_layer_name(&info, 0), "seven layers have names");
}

TEST(report, files) {
    eg_context *context = context_new();
    eg_profile *profile = profile_new(context, NULL);
    eg_report *report;
    eg_error error = {0};
    char path[512];
    const eg_report_options options = {.format = EG_REPORT_JSON};
    CHECK_OK(eg_report_of_profile(profile, NULL, &options, &report, &error), error);
    snprintf(path, sizeof path, "%s/run.json", test_folder());
    CHECK_OK(eg_report_write(report, path, &error), error);
    size_t length;
    const char *text = eg_report_text(report, &length);
    char *got = test_alloc(length + 2);
    FILE *file = fopen(path, "r");
    CHECK(file && fread(got, 1, length + 2, file) == length + 1 && !memcmp(got, text, length) &&
              got[length] == '\n',
          "the file has another text");
    if (file) fclose(file);
    free(got);
    snprintf(path, sizeof path, "%s/nowhere/run.json", test_folder());
    CHECK_FAILS(eg_report_write(report, path, &error), error, EG_ERR_FILE, "nowhere");
    CHECK_FAILS(eg_report_write(report, NULL, &error), error, EG_ERR_ARGUMENT, "no path");
    CHECK_FAILS(eg_report_write(NULL, path, &error), error, EG_ERR_ARGUMENT, "no report");
    eg_report_destroy(report);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

TEST(report, arguments) {
    eg_context *context = context_new();
    eg_profile *profile = profile_new(context, NULL);
    eg_report *report = (eg_report *)&report;
    eg_error error = {0};
    const eg_report_options other = {.format = (eg_report_format)9}, none = {.device_count = 2};
    CHECK_FAILS(eg_report_of_profile(NULL, NULL, NULL, &report, &error), error, EG_ERR_ARGUMENT,
                "no profile");
    CHECK(!report, "a report after a failure");
    CHECK_FAILS(eg_report_of_profile(profile, NULL, NULL, NULL, &error), error, EG_ERR_ARGUMENT,
                "no output pointer");
    CHECK_FAILS(eg_report_of_profile(profile, NULL, &other, &report, &error), error,
                EG_ERR_ARGUMENT, "no format '9'");
    CHECK_FAILS(eg_report_of_profile(profile, NULL, &none, &report, &error), error, EG_ERR_ARGUMENT,
                "2 devices, and no list");
    CHECK_FAILS(eg_report_of_text(context, NULL, 0, NULL, &report, &error), error, EG_ERR_ARGUMENT,
                "no document");
    CHECK_FAILS(eg_report_of_text(NULL, "{}", 2, NULL, &report, &error), error, EG_ERR_ARGUMENT,
                "no context");
    CHECK_FAILS(eg_report_of_file(context, NULL, NULL, &report, &error), error, EG_ERR_ARGUMENT,
                "no path");
    CHECK_FAILS(eg_report_of_file(context, "nowhere/run.json", NULL, &report, &error), error,
                EG_ERR_FILE, "cannot open 'nowhere/run.json'");
    CHECK_FAILS(eg_report_of_wiring(NULL, "a", &report, &error), error, EG_ERR_ARGUMENT,
                "no wiring");
    eg_report_destroy(NULL);
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

/* ---- numbers in a program whose locale has commas: of the document all, of a picture all places */
static void wiring_text(eg_context *context, char **out) {
    eg_wiring *wiring;
    eg_report *report;
    eg_error error = {0};
    CHECK_OK(eg_wiring_create(context, "autoncp:12:3,in=4", &wiring, &error), error);
    CHECK_OK(eg_report_of_wiring(wiring, "1,5", &report, &error), error);
    *out = strdup(report ? eg_report_text(report, NULL) : "");
    eg_report_destroy(report);
    eg_wiring_destroy(wiring);
}

TEST(report, comma_locale) {
    eg_context *context = context_new();
    eg_profile *profile = profile_new(context, NULL);
    const eg_report_options ways[] = {{.format = EG_REPORT_JSON},
                                      {.format = EG_REPORT_JSON, .digits = 10}};
    char *points[3], *commas[3];
    for (int i = 0; i < 2; i++) points[i] = text_of(profile, &ways[i]);
    wiring_text(context, &points[2]);
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) test_skip("no locale with a decimal comma");
    for (int i = 0; i < 2; i++) commas[i] = text_of(profile, &ways[i]);
    wiring_text(context, &commas[2]);
    setlocale(LC_NUMERIC, "C");
    for (int i = 0; i < 3; i++) {
        CHECK(strcmp(points[i], commas[i]) == 0 && (i == 2 || points[i][0] == '{'),
              "%d: another text in another locale", i);
        free(points[i]);
        free(commas[i]);
    }
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}

/* ---- every allocation that fails */
static eg_status attempt_wiring(void *user, eg_context *context, eg_error *error) {
    eg_wiring *wiring;
    eg_report *report = NULL;
    (void)user;
    eg_status status = eg_wiring_create(context, "autoncp:8:2,in=3", &wiring, error);
    if (!status) status = eg_report_of_wiring(wiring, "a", &report, error);
    CHECK(!status == (report != NULL), "a report and a status");
    eg_report_destroy(report);
    eg_wiring_destroy(wiring);
    return status;
}

TEST(report, wiring_memory) {
    const int failed = test_every_allocation_within(attempt_wiring, NULL);
    CHECK(failed > 3, "%d allocations", failed);
}

/* The profile is made once: its runs have nothing to do with it. */
TEST(report, document_memory) {
    eg__failing_allocator state = {0};
    const eg_context_options options = {
        .allocator = eg__failing_allocator_use(&state), .threads = 1, .memory_cache_off = 1};
    eg_context *context;
    eg_error error = {0};
    CHECK_OK(eg_context_create(&options, &context, &error), error);
    eg_profile *profile = profile_new(context, NULL);
    bool fails = true;
    for (int k = 1; fails && k < 1000; k++) {
        eg_report *report;
        const int64_t live = state.live;
        state.requests = 0;
        state.failed_size = state.again_size = 0;
        state.fail_at = k;
        const eg_status status = eg_report_of_profile(
            profile, NULL, &(eg_report_options){.format = EG_REPORT_JSON}, &report, &error);
        fails = state.requests >= k;
        state.fail_at = 0;
        CHECK(status == (fails ? EG_ERR_MEMORY : EG_OK) && !status == (report != NULL),
              "allocation %d: %s '%s'", k, eg_status_name(status), error.message);
        eg_report_destroy(report);
        CHECK(state.live == live, "allocation %d: %lld blocks are left", k,
              (long long)(state.live - live));
        CHECK(fails || k > 3, "nothing was taken");
    }
    CHECK(!fails, "it never succeeds");
    eg_profile_destroy(profile);
    eg_context_destroy(context);
}
