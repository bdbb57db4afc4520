/* elegans report: a profile as one page, or two of them compared. */
#include "cli/cli.h"
#include "cli/commands/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    const char *output;
    bool basic, markdown, json, any_model;
    double effect, alpha;
} settings;

/* ---- what is written: as an option says, else as the name ends */
static const struct {
    const char *end;
    eg_report_format format;
} endings[] = {{".html", EG_REPORT_HTML},
               {".htm", EG_REPORT_HTML},
               {".md", EG_REPORT_MARKDOWN},
               {".markdown", EG_REPORT_MARKDOWN},
               {".json", EG_REPORT_JSON}};

static int choose_format(const settings *s, eg_report_format *out) {
    *out = s->json ? EG_REPORT_JSON : s->markdown ? EG_REPORT_MARKDOWN : EG_REPORT_HTML;
    if (s->json || s->markdown || !s->output || output_device(s->output)) return CLI_OK;
    const char *slash = strrchr(s->output, '/'), *name = slash ? slash + 1 : s->output;
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(end, endings[i].end) == 0) {
            *out = endings[i].format;
            return CLI_OK;
        }
    return fail(EXIT_USAGE,
                "'%s' ends in '%s', not in .html, .htm, .md, .markdown or .json; --markdown and "
                "--json write to any name",
                s->output, end ? end : name);
}

/* ---- documents. A pipe is fine, too. */
static int read_document(const char *path, bytes *document) {
    if (access(path, R_OK))
        return fail(EXIT_FAILED, "%s: unable to open %s: %s", path, path, strerror(errno));
    return bytes_read_file(path, document);
}

static int make_page(eg_context *context, const char *path, const settings *s,
                     eg_report_format format, eg_report **out) {
    const eg_report_options options = {.size = sizeof options,
                                       .format = format,
                                       .basic = s->basic,
                                       .digits = format == EG_REPORT_JSON ? 10 : 17};
    bytes document = {0};
    eg_error error;
    int code = read_document(path, &document);
    if (!code && eg_report_of_text(context, document.at, document.count, &options, out, &error))
        code = fail(EXIT_FAILED, "%s: %s", path, error.message);
    free(document.at);
    return code;
}

static int make_diff(eg_context *context, char **paths, const settings *s, eg_report_format format,
                     eg_report **out) {
    const eg_compare_options compare = {
        .size = sizeof compare, .alpha = s->alpha, .effect = s->effect};
    const eg_report_diff_options options = {.size = sizeof options,
                                            .format = format,
                                            .any_model = s->any_model,
                                            .digits = format == EG_REPORT_JSON ? 10 : 0,
                                            .old_name = paths[0],
                                            .new_name = paths[1],
                                            .compare = &compare};
    bytes old_one = {0}, new_one = {0};
    eg_error error;
    int code = read_document(paths[0], &old_one);
    if (!code) code = read_document(paths[1], &new_one);
    if (!code && eg_report_diff_texts(context, old_one.at, old_one.count, new_one.at, new_one.count,
                                      &options, out, &error))
        code = fail_with(&error);
    free(old_one.at);
    free(new_one.at);
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

static int check(const settings *s, int rest) {
    if (rest < 1 || rest > 2)
        return fail(EXIT_USAGE, "report needs one profile, RUN.json, or two to compare");
    if (s->markdown && s->json) return fail(EXIT_USAGE, "--markdown or --json, not both");
    if (rest == 2 && s->basic) return fail(EXIT_USAGE, "--basic is for one profile");
    if (rest == 1 && (s->any_model || s->effect != 0 || s->alpha != 0))
        return fail(EXIT_USAGE, "%s is for two profiles",
                    s->any_model     ? "--any-model"
                    : s->effect != 0 ? "--effect"
                                     : "--alpha");
    return CLI_OK;
}

int cmd_report(int argc, char **argv) {
    settings s = {0};
    const option options[] = {
        {"--output", OPTION_TEXT, &s.output, "FILE",
         "the page: .html, .md or .json (default: HTML to stdout)"},
        {"--basic", OPTION_FLAG, &s.basic, NULL, "only compute, memory and hardware"},
        {"--markdown", OPTION_FLAG, &s.markdown, NULL, "Markdown instead of HTML"},
        {"--json", OPTION_FLAG, &s.json, NULL, "print the JSON that pages are made of"},
        {"--any-model", OPTION_FLAG, &s.any_model, NULL,
         "two profiles: of other models, batches or lengths, too"},
        {"--effect", OPTION_NUMBER, &s.effect, "X",
         "two profiles: smallest relative change that counts (default: 0.03)"},
        {"--alpha", OPTION_NUMBER, &s.alpha, "X",
         "two profiles: significance level (default: 0.01)"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "report RUN.json [NEW.json] [OPTIONS]",
        "Makes one page of a profile: the verdict and recommendations first, then the roofline,\n"
        "where the time goes, memory, hardware and the raw data. Of two profiles: what changed\n"
        "from the first to the second, figure by figure and operation by operation, what is\n"
        "within noise, and what differs around them (chip, threads, power ...). The page needs\n"
        "no network and no other file. Profiles are the output of elegans profile --output.",
        options,
        "  elegans profile policy.safetensors --batch 32 --seq 64 --output run.json\n"
        "  elegans report run.json -o report.html\n"
        "  elegans report run.json -o report.md\n"
        "  elegans report before.json after.json -o diff.html\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    eg_report_format format;
    if (!code) code = check(&s, rest);
    if (!code) code = choose_format(&s, &format);
    if (code) return code;
    eg_context *context;
    eg_report *report;
    const context_flags flags = {.threads = 1};
    code = context_open(&flags, &context);
    if (code) return code;
    code = rest == 1 ? make_page(context, argv[0], &s, format, &report)
                     : make_diff(context, argv, &s, format, &report);
    if (!code) code = write_report(report, s.output, format == EG_REPORT_JSON);
    eg_context_destroy(context);
    return code;
}
