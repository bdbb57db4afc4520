/* Arbitrary JSON as a profile: reports in every form, or a message, whatever is missing or of another kind in it. Two
 * profiles, with a zero between them, are compared; one alone is compared with itself and with a sound one. */
#include "fuzz.h"
#include "elegans/report.h"

#include <string.h>

static const char sound[] =
    "{\"elegans_profile\":1,\"model\":\"a\",\"batch\":1,\"seq\":1,\"machine\":{\"threads\":1},\"time\":{"
    "\"samples\":[1e-6,1.1e-6,1.2e-6]},\"operations\":[{\"operation\":\"add\",\"kernel\":\"fused\",\"shape\":"
    "\"1x2\",\"seconds\":1e-7}],\"metrics\":{\"tflops\":{\"value\":1,\"unit\":\"TFLOP/s\",\"provenance\":"
    "\"measured\"}}}";

static void report(eg_context *context, const char *bytes, size_t length) {
    static const eg_report_options ways[] = {{.format = EG_REPORT_HTML},
                                             {.format = EG_REPORT_HTML, .basic = 1, .digits = 17},
                                             {.format = EG_REPORT_MARKDOWN},
                                             {.format = EG_REPORT_JSON, .indented = 1}};
    eg_error error;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        eg_report *made;
        error.message[0] = 0;
        const eg_status status = eg_report_of_text(context, bytes, length, &ways[i], &made, &error);
        require(status ? !made && error.message[0] : made != NULL);
        size_t size = 0;
        const char *text = made ? eg_report_text(made, &size) : "";
        require(strlen(text) == size);
        if (made && ways[i].format == EG_REPORT_JSON) { /* reads back as the same */
            eg_report *again;
            require(eg_report_of_text(context, text, size, &ways[i], &again, &error) == EG_OK);
            require(strcmp(eg_report_text(again, NULL), text) == 0);
            eg_report_destroy(again);
        }
        eg_report_destroy(made);
    }
}

static void compare(eg_context *context, const char *before, size_t before_length,
                    const char *after, size_t after_length) {
    /* few resamples: what is tested is the reader */
    static const eg_compare_options few = {.resamples = 3};
    static const eg_report_diff_options ways[] = {
        {.format = EG_REPORT_HTML, .compare = &few},
        {.format = EG_REPORT_MARKDOWN, .any_model = 1, .compare = &few},
        {.format = EG_REPORT_JSON, .any_model = 1, .compare = &few}};
    eg_error error;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        eg_report *made;
        error.message[0] = 0;
        const eg_status status = eg_report_diff_texts(context, before, before_length, after,
                                                      after_length, &ways[i], &made, &error);
        require(status ? !made && error.message[0] : made != NULL);
        size_t size = 0;
        const char *text = made ? eg_report_text(made, &size) : "";
        require(strlen(text) == size);
        eg_report_destroy(made);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static eg_context *context;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    const char *text = (const char *)bytes;
    eg_error error;
    if (!context) require(eg_context_create(&one, &context, &error) == EG_OK);
    const char *zero = length ? memchr(text, 0, length) : NULL;
    if (zero) {
        compare(context, text, (size_t)(zero - text), zero + 1, length - (size_t)(zero - text) - 1);
        return 0;
    }
    report(context, text, length);
    compare(context, text, length, text, length);
    compare(context, sound, sizeof sound - 1, text, length);
    compare(context, text, length, sound, sizeof sound - 1);
    return 0;
}
