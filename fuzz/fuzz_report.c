/* Arbitrary JSON as a profile: reports in every form, or a message, whatever is missing or of another kind in it. */
#include "fuzz.h"
#include "elegans/report.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static eg_context *context;
    const eg_context_options one = {.size = sizeof one, .threads = 1};
    static const eg_report_options ways[] = {{.format = EG_REPORT_HTML},
                                             {.format = EG_REPORT_HTML, .basic = 1, .digits = 17},
                                             {.format = EG_REPORT_MARKDOWN},
                                             {.format = EG_REPORT_JSON, .indented = 1}};
    eg_error error;
    if (!context) require(eg_context_create(&one, &context, &error) == EG_OK);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        eg_report *report;
        error.message[0] = 0;
        const eg_status status =
            eg_report_of_text(context, (const char *)bytes, length, &ways[i], &report, &error);
        require(status ? !report && error.message[0] : report != NULL);
        size_t size = 0;
        const char *text = report ? eg_report_text(report, &size) : "";
        require(strlen(text) == size);
        if (report && ways[i].format == EG_REPORT_JSON) { /* reads back as the same */
            eg_report *again;
            require(eg_report_of_text(context, text, size, &ways[i], &again, &error) == EG_OK);
            require(strcmp(eg_report_text(again, NULL), text) == 0);
            eg_report_destroy(again);
        }
        eg_report_destroy(report);
    }
    return 0;
}
