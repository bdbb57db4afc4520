/* elegans report: a profile as one page. */
#include "cli/cli.h"
#include "cli/commands/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pipe is fine, too. */
static int make(eg_context *context, const char *path, const eg_report_options *options,
                eg_report **out) {
    bytes document = {0};
    eg_error error;
    if (access(path, R_OK))
        return fail(EXIT_FAILED, "%s: unable to open %s: %s", path, path, strerror(errno));
    int code = bytes_read_file(path, &document);
    if (!code && eg_report_of_text(context, document.at, document.count, options, out, &error))
        code = fail(EXIT_FAILED, "%s: %s", path, error.message);
    free(document.at);
    return code;
}

static int write_report(eg_report *report, const char *path, bool as_json) {
    output_file file;
    int code = output_begin(&file, path);
    if (code) {
        eg_report_destroy(report);
        return code;
    }
    if (as_json) code = output_document(report, file.file);
    else output_report(report, file.file);
    if (!code) return output_end(&file);
    output_abort(&file);
    return code;
}

int cmd_report(int argc, char **argv) {
    const char *output = NULL;
    bool basic = false, markdown = false, as_json = false;
    const option options[] = {
        {"--output", OPTION_TEXT, &output, "FILE", "the page (default: stdout)"},
        {"--basic", OPTION_FLAG, &basic, NULL, "only compute, memory and hardware"},
        {"--markdown", OPTION_FLAG, &markdown, NULL, "Markdown instead of HTML"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print the profile's JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "report RUN.json [OPTIONS]",
        "Makes one page of a profile: the verdict first, then the roofline, where the time\n"
        "goes, memory, hardware, recommendations and the raw data. The page needs no network\n"
        "and no other file. RUN.json is the output of elegans profile --output.",
        options,
        "  elegans profile policy.safetensors --batch 32 --seq 64 --output run.json\n"
        "  elegans report run.json -o report.html\n"
        "  elegans report run.json --markdown\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "report needs one profile: RUN.json");
    if (markdown && as_json) return fail(EXIT_USAGE, "--markdown or --json, not both");
    eg_context *context;
    eg_report *report;
    const context_flags flags = {.threads = 1};
    const eg_report_options how = {.size = sizeof how,
                                   .format = as_json    ? EG_REPORT_JSON
                                             : markdown ? EG_REPORT_MARKDOWN
                                                        : EG_REPORT_HTML,
                                   .basic = basic,
                                   .digits = as_json ? 10 : 17};
    code = context_open(&flags, &context);
    if (code) return code;
    code = make(context, argv[0], &how, &report);
    if (!code) code = write_report(report, output, as_json);
    eg_context_destroy(context);
    return code;
}
