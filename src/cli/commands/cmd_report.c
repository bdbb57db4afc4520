/* elegans report: a profile as one page. */
#include "cli/report/report.h"

#include <math.h>

int cmd_report(int argc, char **argv) {
    const char *output = NULL;
    bool basic = false, markdown = false, as_json = false;
    const option options[] = {
        {"--output", OPTION_TEXT, &output, "FILE", "the page (default: stdout)"},
        {"--basic", OPTION_FLAG, &basic, NULL, "compute, memory and hardware alone"},
        {"--markdown", OPTION_FLAG, &markdown, NULL, "Markdown instead of HTML"},
        {"--json", OPTION_FLAG, &as_json, NULL, "the profile as it is"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "report RUN.json [OPTIONS]",
        "Makes one page of a profile: the verdict first, then the roofline, where the time\n"
        "goes, memory, hardware, what could be done, and the raw data. The page needs no\n"
        "network and no other file. RUN.json is what elegans profile --output wrote.",
        options,
        "  elegans profile policy.safetensors --batch 32 --seq 64 --output run.json\n"
        "  elegans report run.json -o report.html\n"
        "  elegans report run.json --markdown\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    char message[256];
    if (code >= 0) return code;
    if (rest != 1) return fail(EXIT_USAGE, "report needs one profile: RUN.json");
    if (markdown && as_json) return fail(EXIT_USAGE, "--markdown or --json, not both");
    report r = {.run = json_read_file(argv[0], message), .basic = basic};
    if (!r.run) return fail(EXIT_FAILED, "%s: %s", argv[0], message);
    if (json_number(r.run, "elegans_profile") != 1) {
        json_free(r.run);
        return fail(EXIT_FAILED, "%s: no profile of version 1", argv[0]);
    }
    output_file file;
    code = output_begin(&file, output);
    if (code < 0) {
        r.file = file.file;
        if (as_json) code = json_write_line(r.run, r.file), r.run = NULL;
        else if (markdown) report_markdown(&r);
        else code = report_html(&r);
        if (code < 0) code = output_end(&file);
        else output_abort(&file);
    }
    json_free(r.run);
    return code < 0 ? EXIT_DONE : code;
}
