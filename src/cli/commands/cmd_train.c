/* elegans train: from tables to a model. */
#include "cli/interrupt.h"
#include "cli/commands/language.h"
#include "cli/commands/train.h"
#include "cli/publishing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- data */
static int split_parse(const train_settings *w, eg_split *out) {
    eg_error error;
    *out = (eg_split){.fraction = 0.1, .seed = (uint32_t)w->split_seed};
    if (w->split_at) {
        out->kind = EG_SPLIT_AT;
        const size_t length = strlen(w->split_at);
        if (eg_number_parse(w->split_at, length, &out->at, NULL) &&
            eg_date_parse(w->split_at, length, &out->at, &error))
            return fail(EXIT_USAGE, "--split-at: %s", error.message);
        return CLI_OK;
    }
    for (int i = 0; w->split && eg_split_name((eg_split_kind)i); i++)
        if (strcmp(w->split, eg_split_name((eg_split_kind)i)) == 0 && i != EG_SPLIT_AT) {
            out->kind = (eg_split_kind)i;
            return CLI_OK;
        }
    return w->split ? fail(EXIT_USAGE, "--split: '%s' is not auto, recordings, time or windows",
                           w->split)
                    : CLI_OK;
}

/* Classes have the order of the training data, whichever of them are in these. */
static int read_other(training *t, const char *files, const data_settings *settings,
                      eg_data **out) {
    eg_data_options more = {0};
    const char **labels = t->classes ? data_labels(t->whole, &more.label_count) : NULL;
    more.labels = labels;
    const int code = data_read(t->context, files, settings, &more, &t->classes, out);
    free((void *)labels);
    return code;
}

/* Each row once, as eval takes them: the figures of both are the same. */
static int read_test(training *t) {
    data_settings settings = t->data;
    data_once(&settings);
    return read_other(t, t->settings->test, &settings, &t->test);
}

/* --validation is a fraction, files, or "none". */
static int read_validation(training *t) {
    char a[48];
    const train_settings *w = t->settings;
    const char *text = w->validation ? w->validation : "0.1";
    eg_split split;
    eg_error error;
    t->first = t->whole;
    if (strcmp(text, "none") == 0)
        return w->split || w->split_at ? fail(EXIT_USAGE, "--validation none needs no --split")
                                       : CLI_OK;
    int code = split_parse(w, &split);
    if (code) return code;
    if (eg_number_parse(text, strlen(text), &split.fraction, NULL)) {
        if (w->split || w->split_at) return fail(EXIT_USAGE, "--validation files need no --split");
        return read_other(t, text, &t->data, &t->second);
    }
    t->first = NULL;
    if (eg_data_split(t->whole, &split, &t->first, &t->second, &error))
        return fail(EXIT_FAILED, "--validation %s: %s%s", text, error.message,
                    split.kind != EG_SPLIT_AT && split.fraction > 0 && split.fraction < 1
                        ? "; try another fraction, a shorter --window, or none"
                        : "");
    eg_data_info whole = {.size = sizeof whole}, first = {.size = sizeof first},
                 second = {.size = sizeof second};
    eg_data_info_get(t->whole, &whole);
    eg_data_info_get(t->first, &first);
    eg_data_info_get(t->second, &second);
    if (!whole.lengths && (first.steps < whole.steps || second.steps < whole.steps))
        warn("no window of %llu rows fits into %s: it has %s of up to %llu",
             (unsigned long long)whole.steps,
             second.steps < whole.steps ? "the validation part" : "the training part",
             second.steps < whole.steps ? format_count(a, second.windows, "window")
                                        : format_count(a, first.windows, "window"),
             (unsigned long long)(second.steps < whole.steps ? second.steps : first.steps));
    return CLI_OK;
}

/* A binary target learned with a regression loss gives no probability. */
static void suggest(const training *t) {
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(t->whole, &d);
    for (size_t i = 0; i < d.targets; i++) {
        eg_target_info target = {.size = sizeof target};
        eg_data_target_info(t->whole, i, &target);
        if (d.classes || !target.zeros || !target.ones || target.zeros + target.ones != target.rows)
            return;
    }
    warn("target '%s' is 0 or 1 in all rows: --loss binary predicts how likely 1 is (--loss mse is "
         "what happens now)",
         eg_data_target(t->whole, 0));
}

static int read_data(training *t) {
    const train_settings *w = t->settings;
    const bool known = w->loss || t->notes.has_loss;
    const eg_data_options more = {.labels = t->notes.data.labels,
                                  .label_count = t->notes.data.label_count};
    if (!t->data.target) return fail(EXIT_USAGE, "train needs --target COLUMN");
    t->loss = t->notes.loss;
    int code = w->loss ? loss_parse(w->loss, &t->loss) : CLI_OK;
    if (code) return code;
    t->classes = known ? t->loss == EG_LOSS_CLASSES : -1;
    code = data_read(t->context, w->files, &t->data, &more, &t->classes, &t->whole);
    if (code) return code;
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(t->whole, &d);
    t->data.first_timespan = (double)d.span; /* of validation and test, too */
    if (!known) t->loss = t->classes ? EG_LOSS_CLASSES : EG_LOSS_MSE;
    if (!known) suggest(t);
    code = read_validation(t);
    if (!code && w->test) code = read_test(t);
    return code;
}

/* ---- model: inputs and outputs of a spec follow from the data */
const char *training_model(const train_settings *w) {
    return w->model ? w->model : "cfc:autoncp:32:16";
}

/* A model from a file says what was not said: columns, labels, loss. */
static int open_file(training *t) {
    const char *given = training_model(t->settings);
    eg_error error;
    t->data = t->settings->data;
    t->fresh = strncmp(given, "cfc:", 4) == 0 || strncmp(given, "ltc:", 4) == 0;
    if (t->fresh) return CLI_OK;
    if (eg_model_open(t->context, given, &t->model, &error)) return fail_with(&error);
    const int code = language_refuse(t->model, "train");
    return code ? code : notes_read(t->model, &t->data, &t->notes);
}

/* Checks the size without allocating values, so that a model too large to be trained fails
 * early. */
static int outline_spec(training *t) {
    eg_error error;
    if (!t->fresh) return CLI_OK;
    if (eg_fit_spec(t->context, training_model(t->settings), t->first, t->settings->seed, t->spec,
                    sizeof t->spec, &t->model, &error))
        return fail_with(&error);
    return CLI_OK;
}

static int open_spec(training *t) {
    eg_error error;
    if (eg_fit_check(t->model, &t->options, &error)) return fail_with(&error);
    if (!t->fresh) return CLI_OK;
    eg_model_destroy(t->model);
    if (eg_model_open(t->context, t->spec, &t->model, &error))
        return fail(EXIT_FAILED, "%s: %s", t->spec, error.message);
    return CLI_OK;
}

/* ---- units: fitted on what is learned from; a model from a file keeps its own */
static int set_units(training *t) {
    const train_settings *w = t->settings;
    const char *which = w->standardise ? w->standardise : "both";
    int units = 0;
    double time = 0;
    eg_error error;
    while (eg_standardize_name((eg_standardize)units) &&
           strcmp(which, eg_standardize_name((eg_standardize)units)) != 0)
        units++;
    if (!eg_standardize_name((eg_standardize)units))
        return fail(EXIT_USAGE, "--standardise: '%s' is not both, inputs, targets or none", which);
    if (!t->fresh) return CLI_OK;
    if (w->time_unit && strcmp(w->time_unit, "median") != 0 &&
        (eg_number_parse(w->time_unit, strlen(w->time_unit), &time, NULL) || !(time > 0)))
        return fail(EXIT_USAGE, "--time-unit: '%s' is neither above 0 nor median", w->time_unit);
    if (eg_fit_units(t->model, t->first, t->loss, (eg_standardize)units, time, &error))
        return fail_with(&error);
    return CLI_OK;
}

/* ---- everything */
/* An existing model file stays; a checkpoint that would diverge again is removed. */
static int failed(const training *t, const eg_error *error) {
    const train_settings *w = t->settings;
    if (!t->result.diverged) return fail_with(error);
    if (!w->checkpoint) unlink(t->checkpoint);
    const bool at_once = strstr(error->message, "after 0 steps") != NULL; /* it is in the data */
    const bool says = strstr(error->message, "learning rate") != NULL;
    return fail(EXIT_FAILED, "%s%s; nothing was saved", error->message,
                at_once ? ""
                : says  ? " (--rate, --clip 1)"
                        : "; try a lower --rate, or --clip 1");
}

static int draw_losses(const training *t) {
    eg_report *picture;
    eg_error error;
    if (eg_report_of_fit(t->context, &t->result, &picture, &error)) return fail_with(&error);
    return output_report_file(picture, t->settings->curve);
}

static int fit(training *t) {
    const train_settings *w = t->settings;
    eg_error error;
    int code = progress_open(&t->progress, t->context, w->log, w->quiet);
    if (code) return code;
    t->progress.data.size = sizeof t->progress.data;
    eg_data_info_get(t->first, &t->progress.data);
    t->options.size = sizeof t->options;
    t->options.publisher = publish_open(t->context, "train", training_model(w), NULL, false);
    const eg_status status = eg_fit(t->model, t->first, t->second, &t->options, &t->result, &error);
    eg_publisher_close(t->options.publisher);
    progress_close(&t->progress);
    if (status) return failed(t, &error);
    if (t->progress.failed) return fail(EXIT_FAILED, "cannot write '%s'", w->log);
    if (t->result.stopped && interrupted()) {
        fprintf(stderr,
                "stopped in epoch %llu; saved in %s\nsay the same again with --resume to go on\n",
                (unsigned long long)t->result.epochs + 1, t->checkpoint);
        return EXIT_STOPPED;
    }
    code = notes_write(t->model, &t->data, t->first, t->loss);
    if (!code && eg_model_save(t->model, w->output, &error)) code = fail_with(&error);
    if (!code && w->curve) code = draw_losses(t);
    if (!code && !w->checkpoint) unlink(t->checkpoint); /* not needed any more */
    return code;
}

static int run(training *t) {
    const train_settings *w = t->settings;
    if (!w->files) return fail(EXIT_USAGE, "train needs --data FILES");
    checkpoint_name(t->checkpoint, sizeof t->checkpoint, w->checkpoint, w->output);
    const training_files files = {
        w->output, t->checkpoint, w->curve, w->log, {w->files, w->validation, w->test}};
    int code = data_check(&w->data);
    if (!code) code = training_numbers(w);
    if (!code) code = files_check(&files);
    if (!code) code = open_file(t);
    if (!code) code = read_data(t);
    if (!code) code = outline_spec(t);
    if (!code) code = training_options(t);
    if (!code) code = open_spec(t);
    if (!code) code = set_units(t);
    const bool usable = !code && data_warn("training", t->first, t->loss);
    if (usable && t->second) data_warn("validation", t->second, t->loss);
    if (!code && !w->json) training_head(t);
    if (!code) code = fit(t);
    if (!code) code = training_report(t);
    return code;
}

static int start(const train_settings *w, const context_flags *flags) {
    training t = {.settings = w};
    if (w->json && !json_usable()) return json_print(NULL);
    int code = context_open(flags, &t.context);
    if (code) return code;
    code = run(&t);
    if (t.model) eg_fit_release(t.model, &t.result);
    if (t.first != t.whole) eg_data_destroy(t.first);
    eg_data_destroy(t.whole);
    eg_data_destroy(t.second);
    eg_data_destroy(t.test);
    notes_free(&t.notes);
    eg_model_destroy(t.model);
    eg_context_destroy(t.context);
    return code;
}

/* The command line goes before the file of options: it is read before it (for its name) and after it. */
static int read_options(const usage *use, int argc, char **argv, json **config) {
    char **copy = take_memory((size_t)argc, sizeof *copy);
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    int rest, code = options_read(use, argc, copy, &rest);
    if (!code && rest > 1)
        code = fail(EXIT_USAGE, "train takes one file of options, not '%s'", copy[1]);
    if (!code && rest &&
        !(strlen(copy[0]) > 5 && strcmp(copy[0] + strlen(copy[0]) - 5, ".json") == 0))
        code = fail(EXIT_USAGE,
                    "'%s' is not a .json file of options; tables are given with "
                    "--data",
                    copy[0]);
    if (!code && rest) code = options_config(use, copy[0], config);
    if (!code) code = options_read(use, argc, argv, &rest);
    free(copy);
    return code;
}

int cmd_train(int argc, char **argv) {
    train_settings w = {.output = "model.safetensors",
                        .rate = NAN,
                        .momentum = NAN,
                        .decay = NAN,
                        .floor = NAN,
                        .warmup = NAN,
                        .weight_decay = NAN,
                        .clip = NAN,
                        .average = NAN};
    context_flags flags = {0};
    const option options[] = {
        {"--data", OPTION_TEXT, &w.files, "FILES", "training tables, separated by commas"},
        DATA_OPTIONS(w.data, "rows of a training window (default: 64)",
                     "rows between windows (default: half of one)"),
        {"--validation", OPTION_TEXT, &w.validation, "X", "a fraction (default: 0.1), files, none"},
        {"--split", OPTION_TEXT, &w.split, "KIND", "auto, recordings, time, windows"},
        {"--split-at", OPTION_TEXT, &w.split_at, "TIME", "validate on the rows after this time"},
        {"--split-seed", OPTION_WHOLE, &w.split_seed, "N", "random seed of the split (default: 0)"},
        {"--test", OPTION_TEXT, &w.test, "FILES", "evaluate on these at the end, as eval does"},
        {"--model", OPTION_TEXT, &w.model, "MODEL", "a spec, or a file to continue from"},
        {"--loss", OPTION_TEXT, &w.loss, "NAME", "mse, mae, huber, binary, classes"},
        {"--standardise", OPTION_TEXT, &w.standardise, "WHAT", "both, inputs, targets, none"},
        {"--time-unit", OPTION_TEXT, &w.time_unit, "X",
         "elapsed times are divided by this (default: their median)"},
        {"--optimizer", OPTION_TEXT, &w.optimizer, "NAME", "adam, adamw, sgd, rmsprop"},
        {"--rate", OPTION_NUMBER, &w.rate, "X", "learning rate (default: 0.001)"},
        {"--momentum", OPTION_NUMBER, &w.momentum, "X",
         "(default: 0.9 for adam, none for sgd and rmsprop)"},
        {"--weight-decay", OPTION_NUMBER, &w.weight_decay, "X", "(default: 0)"},
        {"--clip", OPTION_NUMBER, &w.clip, "X", "largest norm of the gradient (default: none)"},
        {"--schedule", OPTION_TEXT, &w.schedule, "KIND", "cosine, exponential, constant"},
        {"--decay", OPTION_NUMBER, &w.decay, "X", "exponential: factor per epoch (default: 0.95)"},
        {"--floor", OPTION_NUMBER, &w.floor, "X",
         "cosine: final rate, as a fraction of --rate (default: 0)"},
        {"--warmup", OPTION_NUMBER, &w.warmup, "X", "epochs of linear warm-up of the rate"},
        {"--average", OPTION_NUMBER, &w.average, "X",
         "exponential moving average of the parameters (0.999)"},
        {"--epochs", OPTION_COUNT, &w.epochs, "N", "passes over the data, at most (default: 50)"},
        {"--patience", OPTION_COUNT, &w.patience, "N", "stop after N epochs without improvement"},
        {"--batch", OPTION_TEXT, &w.batch, "N", "windows per step, or auto (default: 32)"},
        {"--accumulate", OPTION_COUNT, &w.accumulate, "N", "batches per update"},
        {"--memory", OPTION_TEXT, &w.memory, "SIZE", "memory limit, such as 512M"},
        {"--preset", OPTION_TEXT, &w.preset, "CHIP",
         "batch, memory and sizes as for M1, M4 Max, ..."},
        {"--dtype", OPTION_TEXT, &w.dtype, "TYPE",
         "mixed precision: f32, bf16, f16 (default: f32)"},
        {"--seed", OPTION_WHOLE, &w.seed, "N",
         "random seed of initial values, order, dropout (default: 0)"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "the model (model.safetensors)"},
        {"--checkpoint", OPTION_TEXT, &w.checkpoint, "FILE",
         "where the training is saved (default: beside the model)"},
        {"--every", OPTION_COUNT, &w.every, "N", "steps between checkpoints (default: 10 s)"},
        {"--resume", OPTION_FLAG, &w.resume, NULL, "continue from the checkpoint"},
        {"--keep-last", OPTION_FLAG, &w.keep_last, NULL, "keep the last parameters, not the best"},
        {"--log", OPTION_TEXT, &w.log, "FILE", "write a line of JSON for each epoch"},
        {"--curve", OPTION_TEXT, &w.curve, "FILE", "draw the losses over epochs as SVG"},
        {"--quiet", OPTION_FLAG, &w.quiet, NULL, "no progress"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print the result as JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "train [CONFIG.json] --data FILES --target COLUMNS [OPTIONS]",
        "Trains a model on the rows of tables: .csv, .npy or .npz. CONFIG.json has the same\n"
        "options as keys; the command line takes precedence. Inputs are standardised, labels\n"
        "and units are saved in the model. Ctrl-C saves a checkpoint, from which --resume\n"
        "continues bit for bit.\n"
        "Exit codes: 0 done, 1 failed, 2 usage, 130 stopped and saved.",
        options,
        "  elegans train --data room.csv --target Occupied --time date --model ltc:autoncp:32:2\n"
        "  elegans train --data x.npz --inputs x --target y --spans dt --epochs 20 --curve c.svg\n"
        "  elegans train walker.json --data walker.npz --memory 512M --resume\n"};
    json *config = NULL;
    int code = read_options(&use, argc, argv, &config);
    preset_store store;
    if (!code && w.preset && !w.model) w.model = training_model(&w);
    if (!code) code = preset_apply(w.preset, &flags, &w.batch, &w.memory, &w.model, &store);
    if (!code) code = start(&w, &flags);
    json_free(config);
    return code;
}
