/* elegans run: a model over sequences from a file, or as a filter in a pipe. */
#include "cli/commands/language.h"
#include "cli/commands/run.h"

#include <string.h>

static int check(const run_settings *w) {
    if (w->stream == (w->input != NULL))
        return fail(EXIT_USAGE, "run needs either --input FILE or --stream");
    if (w->time && w->timespans)
        return fail(EXIT_USAGE, "--time (times) and --spans (times between rows) exclude each "
                                "other");
    if (w->stream && (w->output || w->json))
        return fail(EXIT_USAGE, "--stream prints the outputs: --output and --json do not apply");
    const table_settings *t = &w->table;
    if (w->stream && (t->short_header || t->no_header || t->decimal || t->dates || t->encoding))
        return fail(EXIT_USAGE, "--stream reads no table: --short-header, --no-header, "
                                "--decimal, --dates and --encoding do not apply");
    if (w->activations && (w->stream || w->batch))
        return fail(EXIT_USAGE, "--activations is for all samples at once: %s does not apply",
                    w->stream ? "--stream" : "--batch");
    if (w->digits > 17)
        return fail(EXIT_USAGE, "--digits: %llu is not within 1..17",
                    (unsigned long long)w->digits);
    return CLI_OK;
}

/* ---- what was done */

static void print_summary(const run_settings *w, const eg_model_info *info, const run_data *d) {
    char note[112], value[112], all[32], one[32], a[48], b[48];
    const double steps = (double)(d->batch * d->steps);
    snprintf(note, sizeof note, "%s, %s", format_count(a, info->inputs, "input"),
             format_count(b, info->outputs, "output"));
    print_title(w->model, note);
    snprintf(value, sizeof value, "%llu", (unsigned long long)d->steps);
    if (d->batched)
        snprintf(value, sizeof value, "%s of %llu", format_count(a, d->batch, "sample"),
                 (unsigned long long)d->steps);
    print_row("steps", value, "counted");
    snprintf(value, sizeof value, "%s, %s per step", format_seconds(all, d->seconds),
             format_seconds(one, d->seconds / steps));
    print_row("time", value, "measured");
    print_row("output", w->output, "");
}

static int print_json(eg_context *context, const run_settings *w, const eg_model_info *info,
                      const run_data *d) {
    if (!json_usable()) return json_print(NULL);
    const char *source = d->batched ? "one run, all samples together" : "one run, step by step";
    eg_metric seconds = {d->seconds, EG_MEASURED, "s", source};
    eg_metric each = {d->seconds / (double)(d->batch * d->steps) * 1e6, EG_MEASURED, "us", source};
    json *document = json_new_object();
    json_put_text(document, "model", w->model);
    json_put_count(document, "samples", d->batch);
    json_put_count(document, "steps", d->steps);
    json_put_count(document, "inputs", info->inputs);
    json_put_count(document, "outputs", info->outputs);
    json_put_metric(document, "seconds", &seconds);
    json_put_metric(document, "us_per_step", &each);
    json_put_count(document, "threads", d->batched ? eg_context_threads(context) : 1);
    json_put_text(document, "isa", eg_context_isa(context));
    return json_print(document);
}

/* ---- the run */

/* A model that looks at the future cannot go step by step. */
static bool looks_ahead(const eg_model *model, const eg_model_info *info) {
    for (size_t i = 0; i < info->layers; i++) {
        eg_layer_info layer = {.size = sizeof layer};
        if (eg_model_layer(model, i, &layer, NULL) == EG_OK && layer.merge) return true;
    }
    return false;
}

static int run_file(eg_context *context, eg_model *model, const run_settings *w,
                    const eg_model_info *info, run_data *d) {
    eg_error error;
    int code = run_read(context, w, model, d);
    if (!code) code = run_read_state(context, w, info, d);
    if (code) return code;
    const uint64_t shape[] = {d->batch, d->steps, info->outputs};
    if (eg_tensor_create(context, EG_F32, 3, shape, &d->y, &error)) return fail_with(&error);
    if (d->activations) code = run_rounded(context, model, d);
    else if (w->batch && d->batched) code = run_batches(context, model, w->model, w->size, d);
    else
        code = d->batched || looks_ahead(model, info)
                   ? run_batch(context, model, d)
                   : run_steps(context, model, w->model, info, d);
    if (!code) code = run_write(context, w, model, d);
    if (!code) code = run_write_state(w, d);
    if (code) return code;
    if (w->json) return print_json(context, w, info, d);
    if (w->output) print_summary(w, info, d);
    return CLI_OK;
}

static int run_pipe(eg_context *context, eg_model *model, const run_settings *w,
                    const eg_model_info *info, run_data *d) {
    d->batch = 1;
    int code = run_read_state(context, w, info, d);
    if (!code) code = run_stream(context, model, w, info, d);
    if (!code) code = run_write_state(w, d);
    return code;
}

int cmd_run(int argc, char **argv) {
    run_settings w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--input", OPTION_TEXT, &w.input, "FILE", "sequences: .csv, or .npy of rank 2 or 3"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write .csv or .npy (default: CSV on stdout)"},
        {"--time", OPTION_TEXT, &w.time, "COLUMN",
         "the column with times or dates: name, number, last"},
        {"--spans", OPTION_TEXT, &w.timespans, "COLUMN",
         "the column with timespans (elapsed times)"},
        {"--first-span", OPTION_TEXT, &w.first, "X",
         "timespan of the first step (default: as trained)"},
        {"--state", OPTION_TEXT, &w.state, "FILE", "start from this state (.npy), not from 0"},
        {"--save-state", OPTION_TEXT, &w.save_state, "FILE", "write the state after the last step"},
        TABLE_OPTIONS(w.table),
        {"--stream", OPTION_FLAG, &w.stream, NULL, "read lines from stdin, answer each at once"},
        {"--batch", OPTION_TEXT, &w.batch, "N", "batch size, or auto (default: all samples)"},
        {"--preset", OPTION_TEXT, &w.preset, "CHIP",
         "batch and memory budget as for M1, M4 Max, ..."},
        {"--digits", OPTION_COUNT, &w.digits, "N", "digits after the point (default: all)"},
        {"--raw", OPTION_FLAG, &w.raw, NULL, "logits instead of probabilities"},
        {"--activations", OPTION_TEXT, &w.activations, "TYPE",
         "what products multiply: f32, bf16 or f16, and its error"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print timings as JSON, not the outputs"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "run MODEL --input FILE|--stream [OPTIONS]",
        "Runs a model over a sequence: a row of features per step in, a row of outputs per\n"
        "step out: values in the units of the training data, or probabilities, with the column\n"
        "names of predict. MODEL is a file or a spec such as\n"
        "cfc:autoncp:64:16,in=16,seed=1. A table and an .npy [steps, features] are one sample,\n"
        "an .npy [samples, steps, features] are many. From a table with names a trained model\n"
        "takes the columns of its training, including the times; otherwise every column is\n"
        "a feature. Without times, each timespan is the median of the training, or 1. In a\n"
        "stream, fields are separated by commas or blanks, and the last one is the time.",
        options,
        "  elegans run policy.safetensors --input drive.csv --time t --output steering.csv\n"
        "  elegans run cfc:32,in=2 --input x.npy --save-state s.npy --digits 4\n"
        "  sensor | elegans run policy.safetensors --stream --spans last | motor\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "run needs one model: a file or a spec");
    code = check(&w);
    eg_type activations = EG_F32;
    if (!code) code = read_activations(w.activations, &activations);
    preset_store store;
    w.model = argv[0];
    if (!code) code = preset_apply(w.preset, &flags, &w.batch, NULL, &w.model, &store);
    if (!code) code = read_batch(w.batch, &w.size);
    if (code) return code;
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    eg_model *model;
    eg_error error;
    run_data data = {.activations = activations};
    if (eg_model_open(context, w.model, &model, &error)) code = fail_with(&error);
    else {
        eg_model_info info = {.size = sizeof info};
        eg_model_info_get(model, &info);
        code = language_refuse(model, "run");
        data.link = eg_model_link(model);
        if (w.raw) eg_model_link_set(model, EG_LINK_IDENTITY, NULL);
        if (!code) code = (w.stream ? run_pipe : run_file)(context, model, &w, &info, &data);
        eg_model_destroy(model);
    }
    eg_tensor *const all[] = {&data.x, &data.timespans, &data.y, &data.states};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) eg_tensor_release(context, all[i]);
    eg_context_destroy(context);
    return code;
}
