/* elegans tune: block sizes of this machine, measured once. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static void show_progress(void *user, const char *what, double done) {
    (void)user;
    fprintf(stderr, "\r%-20s %3.0f %%", what, 100 * done);
}

static json *tuning_json(const eg_tuning *t) {
    json *document = json_new_object();
    json_put_text(document, "fingerprint", t->fingerprint);
    json_put_text(document, "isa", t->isa);
    json_put_count(document, "threads", t->threads);
    json_put_number(document, "seconds", t->seconds);
    json *model = json_new_object(), *blocks = json_new_object(), *cblas = json_new_object();
    json_put_count(model, "rows", t->model_rows);
    json_put_count(model, "depth", t->model_depth);
    json_put_text(model, "provenance", eg_provenance_name(EG_MODELLED));
    json_put(document, "model", model);
    json_put_count(blocks, "rows", t->rows ? t->rows : t->model_rows);
    json_put_count(blocks, "depth", t->depth ? t->depth : t->model_depth);
    json_put_number(blocks, "gain", t->blocks_gain);
    json_put_text(blocks, "provenance", eg_provenance_name(t->rows ? EG_MEASURED : EG_MODELLED));
    json_put(document, "blocks", blocks);
    json_put_text(cblas, "library", t->cblas[0] ? t->cblas : NULL);
    json_put_count(cblas, "least", t->cblas_least);
    json_put_number(cblas, "gain", t->cblas_gain > 0 ? t->cblas_gain : NAN);
    json_put(document, "cblas", cblas);
    return document;
}

static void print_tuning(const eg_tuning *t) {
    char value[700];
    snprintf(value, sizeof value, "%s, %u %s, %.1f s", t->isa, t->threads,
             t->threads == 1 ? "thread" : "threads", t->seconds);
    print_title("Tuning", value);
    snprintf(value, sizeof value, "%u rows, depth %u", t->model_rows, t->model_depth);
    print_row("model", value, eg_provenance_name(EG_MODELLED));
    if (t->rows)
        snprintf(value, sizeof value, "%u rows, depth %u: %.1f %% faster", t->rows, t->depth,
                 100 * (t->blocks_gain - 1));
    else snprintf(value, sizeof value, "the model's: none is 2 %% faster");
    print_row("blocks", value, eg_provenance_name(EG_MEASURED));
    if (t->cblas[0])
        snprintf(value, sizeof value, "from %ux%ux%u on, %.2f x ours: %s", t->cblas_least,
                 t->cblas_least, t->cblas_least, t->cblas_gain, t->cblas);
    else if (t->cblas_gain > 0)
        snprintf(value, sizeof value, "not used: %.2f x ours", t->cblas_gain);
    else snprintf(value, sizeof value, "not measured: no library");
    print_row("cblas", value, t->cblas_gain > 0 ? eg_provenance_name(EG_MEASURED) : "");
}

int cmd_tune(int argc, char **argv) {
    double seconds = 0;
    const char *cblas = NULL;
    bool as_json = false, no_cblas = false;
    context_flags flags = {.no_tuned = true};
    const option options[] = {
        {"--seconds", OPTION_NUMBER, &seconds, "S", "how long to measure (default: 4)"},
        {"--cblas", OPTION_TEXT, &cblas, "FILE", "library to compare with (default: the system's)"},
        {"--no-cblas", OPTION_FLAG, &no_cblas, NULL, "compare with no library"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "tune [--seconds S] [--cblas FILE] [--json]",
        "Measures block sizes of matrix products around those that follow from the caches, and a CBLAS\n"
        "(Accelerate, OpenBLAS, BLIS) beside our own kernels. What is at least 2 % faster is kept for this\n"
        "machine, instruction set and number of threads, and used by all commands but those with\n"
        "--no-tuned. Sums are split at the depth of a block, so their last bits may change.",
        options, "  elegans tune\n  elegans tune --threads 1 --seconds 10\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest) return fail(EXIT_USAGE, "tune takes no argument, got '%s'", argv[0]);
    if (no_cblas && cblas) return fail(EXIT_USAGE, "--cblas and --no-cblas exclude each other");
    if (as_json && !json_usable()) return json_print(NULL);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    const bool shows = isatty(STDERR_FILENO) != 0;
    eg_tune_options how = {.size = sizeof how,
                           .seconds = seconds,
                           .cblas = no_cblas ? "" : cblas,
                           .progress = shows ? show_progress : NULL};
    eg_tuning tuning = {.size = sizeof tuning};
    eg_error error;
    const eg_status status = eg_tune(context, &how, &tuning, &error);
    if (shows) fprintf(stderr, "\r%30s\r", "");
    eg_context_destroy(context);
    if (status) return fail_with(&error);
    if (as_json) return json_print(tuning_json(&tuning));
    print_tuning(&tuning);
    return CLI_OK;
}
