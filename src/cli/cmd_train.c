/* elegans train: from tables to a model. */
#include "interrupt.h"
#include "language.h"
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- data */
static int split_parse(const train_wish *w, eg_split *out) {
    eg_error error;
    *out = (eg_split){.fraction = 0.1, .seed = (uint32_t)w->split_seed};
    if (w->split_at) {
        out->kind = EG_SPLIT_AT;
        const size_t length = strlen(w->split_at);
        if (eg_number_parse(w->split_at, length, &out->at, NULL) &&
            eg_date_parse(w->split_at, length, &out->at, &error))
            return fail(EXIT_USAGE, "--split-at: %s", error.message);
        return -1;
    }
    for (int i = 0; w->split && eg_split_name((eg_split_kind)i); i++)
        if (strcmp(w->split, eg_split_name((eg_split_kind)i)) == 0 && i != EG_SPLIT_AT) {
            out->kind = (eg_split_kind)i;
            return -1;
        }
    return w->split ? fail(EXIT_USAGE, "--split: '%s' is not auto, recordings, time or windows",
                           w->split)
                    : -1;
}

/* Classes have the order of the training data, whichever of them are in these. */
static int read_other(training *t, const char *files, eg_data **out) {
    eg_data_options more = {0};
    const char **labels = t->classes ? data_labels(t->whole, &more.label_count) : NULL;
    if (t->classes && !labels) return fail(EXIT_FAILED, "no memory");
    more.labels = labels;
    const int code = data_read(t->context, files, &t->data, &more, &t->classes, out);
    free((void *)labels);
    return code;
}

/* --validation is a fraction, files, or "none". */
static int read_validation(training *t) {
    const train_wish *w = t->wish;
    const char *text = w->validation ? w->validation : "0.1";
    eg_split split;
    eg_error error;
    t->first = t->whole;
    if (strcmp(text, "none") == 0)
        return w->split || w->split_at ? fail(EXIT_USAGE, "--validation none needs no --split")
                                       : -1;
    int code = split_parse(w, &split);
    if (code >= 0) return code;
    if (eg_number_parse(text, strlen(text), &split.fraction, NULL)) {
        if (w->split || w->split_at) return fail(EXIT_USAGE, "--validation files need no --split");
        return read_other(t, text, &t->second);
    }
    t->first = NULL;
    if (eg_data_split(t->whole, &split, &t->first, &t->second, &error))
        return fail(EXIT_FAILED, "--validation %s: %s%s", text, error.message,
                    split.kind != EG_SPLIT_AT && split.fraction > 0 && split.fraction < 1
                        ? "; try another fraction, a shorter --window, or none"
                        : "");
    return -1;
}

static int read_data(training *t) {
    const train_wish *w = t->wish;
    const bool known = w->loss || t->notes.has_loss;
    const eg_data_options more = {.labels = t->notes.labels, .label_count = t->notes.label_count};
    if (!t->data.target) return fail(EXIT_USAGE, "train needs --target COLUMN");
    t->loss = t->notes.loss;
    int code = w->loss ? loss_parse(w->loss, &t->loss) : -1;
    if (code >= 0) return code;
    t->classes = known ? t->loss == EG_LOSS_CLASSES : -1;
    code = data_read(t->context, w->files, &t->data, &more, &t->classes, &t->whole);
    if (code >= 0) return code;
    if (!known) t->loss = t->classes ? EG_LOSS_CLASSES : EG_LOSS_MSE;
    code = read_validation(t);
    if (code < 0 && w->test) code = read_other(t, w->test, &t->test);
    return code;
}

/* ---- model: inputs and outputs of a spec follow from the data */
static bool has_key(const char *spec, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = spec; (at = strstr(at, key)); at += length)
        if (at > spec && at[-1] == ',' && at[length] == '=') return true;
    return false;
}

const char *training_model(const train_wish *w) {
    return w->model ? w->model : "cfc:autoncp:32:16";
}

/* A model from a file says what was not said: columns, labels, loss. */
static int open_file(training *t) {
    const char *given = training_model(t->wish);
    eg_error error;
    t->data = t->wish->data;
    t->fresh = strncmp(given, "cfc:", 4) == 0 || strncmp(given, "ltc:", 4) == 0;
    if (t->fresh) return -1;
    if (eg_model_open(t->context, given, &t->model, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    const int code = language_refuse(t->model, "train");
    return code >= 0 ? code : notes_read(t->model, &t->data, &t->notes);
}

static int open_spec(training *t) {
    const train_wish *w = t->wish;
    const char *given = training_model(w);
    char spec[1024], more[64] = "";
    eg_data_info d;
    eg_model_info info = {0};
    eg_error error;
    eg_data_info_get(t->first, &d);
    const uint64_t outputs = t->classes ? d.classes : d.targets;
    if (!t->fresh) return -1;
    for (int attempt = 0; attempt < 2; attempt++) {
        /* keys of the first layer stand before the first slash, those of the last at the end */
        const char *slash = strchr(given, '/');
        const int head = slash ? (int)(slash - given) : (int)strlen(given);
        char in[40] = "", seed[40] = "";
        if (!has_key(given, "in"))
            snprintf(in, sizeof in, ",in=%llu", (unsigned long long)d.inputs);
        if (!has_key(given, "seed") && w->seed)
            snprintf(seed, sizeof seed, ",seed=%llu", (unsigned long long)w->seed);
        snprintf(spec, sizeof spec, "%.*s%s%s%s%s", head, given, in, seed, slash ? slash : "",
                 more);
        eg_model_destroy(t->model);
        if (eg_model_open(t->context, spec, &t->model, &error))
            return fail(EXIT_FAILED, "%s: %s", spec, error.message);
        const int code = language_refuse(t->model, "train");
        if (code >= 0) return code;
        eg_model_info_get(t->model, &info);
        eg_layer_info last;
        if (info.outputs == outputs || has_key(given, "proj") ||
            eg_model_layer(t->model, (size_t)info.layers - 1, &last, &error) ||
            strcmp(last.cell, "cfc") != 0 || last.merge)
            break;
        snprintf(more, sizeof more, ",proj=%llu", (unsigned long long)outputs);
    }
    if (info.inputs != d.inputs || info.outputs != outputs)
        return fail(EXIT_FAILED, "%s has %llu inputs and %llu outputs, the data have %llu and %llu",
                    spec, (unsigned long long)info.inputs, (unsigned long long)info.outputs,
                    (unsigned long long)d.inputs, (unsigned long long)outputs);
    return -1;
}

/* ---- units: fitted on what is learned from; a model from a file keeps its own */
static int set_units(training *t) {
    const train_wish *w = t->wish;
    const char *which = w->standardise ? w->standardise : "both";
    const bool both = strcmp(which, "both") == 0;
    const bool inputs = both || strcmp(which, "inputs") == 0;
    const bool targets = both || strcmp(which, "targets") == 0;
    if (!inputs && !targets && strcmp(which, "none") != 0)
        return fail(EXIT_USAGE, "--standardise: '%s' is not both, inputs, targets or none", which);
    if (!t->fresh) return -1;
    eg_data_info d;
    eg_data_info_get(t->first, &d);
    const bool scaled = targets && t->loss != EG_LOSS_CLASSES && t->loss != EG_LOSS_BINARY;
    float *m = calloc((size_t)(2 * (d.inputs + d.targets) + 1), sizeof *m);
    if (!m) return fail(EXIT_FAILED, "no memory");
    float *const in[] = {m, m + d.inputs};
    float *const out[] = {m + 2 * d.inputs, m + 2 * d.inputs + d.targets};
    float unit = 1;
    eg_error error;
    int code = -1;
    if (eg_data_units(t->first, scaled, in[0], in[1], out[0], out[1], &unit, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    double given = 0;
    if (code < 0 && w->time_unit && strcmp(w->time_unit, "median") != 0) {
        if (eg_number_parse(w->time_unit, strlen(w->time_unit), &given, NULL) || !(given > 0))
            code =
                fail(EXIT_USAGE, "--time-unit: '%s' is neither above 0 nor median", w->time_unit);
        unit = (float)given;
    }
    const eg_units units = {.input_mean = inputs ? in[0] : NULL,
                            .input_scale = inputs ? in[1] : NULL,
                            .output_mean = scaled ? out[0] : NULL,
                            .output_scale = scaled ? out[1] : NULL,
                            .time = d.spans ? unit : 0};
    if (code < 0 && eg_model_units_set(t->model, &units, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    free(m);
    return code;
}

/* ---- everything */
static int fit(training *t) {
    const train_wish *w = t->wish;
    eg_error error;
    int code = progress_open(&t->progress, w->log, w->resume, w->quiet);
    if (code >= 0) return code;
    const eg_status status = eg_fit(t->model, t->first, t->second, &t->options, &t->result, &error);
    progress_close(&t->progress);
    if (status) return fail(EXIT_FAILED, "%s", error.message);
    if (t->progress.failed) return fail(EXIT_FAILED, "cannot write '%s'", w->log);
    if (t->result.stopped && interrupted()) {
        fprintf(stderr,
                "stopped in epoch %llu; saved in %s\nsay the same again with --resume to go on\n",
                (unsigned long long)t->result.epochs + 1, t->checkpoint);
        return EXIT_STOPPED;
    }
    code = notes_write(t->model, &t->data, t->first, t->loss);
    if (code < 0 && eg_model_save(t->model, w->output, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    if (code < 0 && w->curve) code = curve_write(w->curve, &t->result);
    if (code < 0 && !w->checkpoint) unlink(t->checkpoint); /* done: nobody needs it */
    return code;
}

static int run(training *t) {
    const train_wish *w = t->wish;
    if (!w->files) return fail(EXIT_USAGE, "train needs --data FILES");
    checkpoint_name(t->checkpoint, sizeof t->checkpoint, w->checkpoint, w->output);
    const training_files files = {
        w->output, t->checkpoint, w->curve, w->log, {w->files, w->validation, w->test}};
    int code = data_check(&w->data);
    if (code < 0) code = training_numbers(w);
    if (code < 0) code = files_check(&files);
    if (code < 0) code = open_file(t);
    if (code < 0) code = read_data(t);
    if (code < 0) code = open_spec(t);
    if (code < 0) code = set_units(t);
    if (code < 0) code = training_options(t);
    if (code < 0 && !w->json) training_head(t);
    if (code < 0) code = fit(t);
    if (code < 0) code = training_report(t);
    return code < 0 ? EXIT_DONE : code;
}

static int start(const train_wish *w, const context_flags *flags) {
    training t = {.wish = w};
    if (w->json && !json_usable()) return json_print(NULL);
    int code = context_open(flags, &t.context);
    if (code >= 0) return code;
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
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    int rest, code = copy ? -1 : fail(EXIT_FAILED, "no memory");
    for (int i = 0; copy && i < argc; i++) copy[i] = argv[i];
    if (code < 0) code = options_read(use, argc, copy, &rest);
    if (code < 0 && rest > 1)
        code = fail(EXIT_USAGE, "train takes one file of options, not '%s'", copy[1]);
    if (code < 0 && rest &&
        !(strlen(copy[0]) > 5 && strcmp(copy[0] + strlen(copy[0]) - 5, ".json") == 0))
        code = fail(EXIT_USAGE, "'%s' is no .json file of options; tables go to --data", copy[0]);
    if (code < 0 && rest) code = options_config(use, copy[0], config);
    if (code < 0) code = options_read(use, argc, argv, &rest);
    free(copy);
    return code;
}

int cmd_train(int argc, char **argv) {
    train_wish w = {.output = "model.safetensors",
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
        {"--data", OPTION_TEXT, &w.files, "FILES", "tables to learn from, separated by commas"},
        DATA_OPTIONS(w.data),
        {"--validation", OPTION_TEXT, &w.validation, "X", "a fraction (default: 0.1), files, none"},
        {"--split", OPTION_TEXT, &w.split, "KIND", "auto, recordings, time, windows"},
        {"--split-at", OPTION_TEXT, &w.split_at, "TIME", "validate on what comes after"},
        {"--split-seed", OPTION_WHOLE, &w.split_seed, "N", "of a random split (default: 0)"},
        {"--test", OPTION_TEXT, &w.test, "FILES", "measured once, when all is done"},
        {"--model", OPTION_TEXT, &w.model, "MODEL", "a spec, or a file to go on from"},
        {"--loss", OPTION_TEXT, &w.loss, "NAME", "mse, mae, huber, binary, classes"},
        {"--standardise", OPTION_TEXT, &w.standardise, "WHAT", "both, inputs, targets, none"},
        {"--time-unit", OPTION_TEXT, &w.time_unit, "X", "that is 1 for the model (median)"},
        {"--optimizer", OPTION_TEXT, &w.optimizer, "NAME", "adam, adamw, sgd, rmsprop"},
        {"--rate", OPTION_NUMBER, &w.rate, "X", "learning rate (default: 0.001)"},
        {"--momentum", OPTION_NUMBER, &w.momentum, "X", "of the optimizer (its default)"},
        {"--weight-decay", OPTION_NUMBER, &w.weight_decay, "X", "(default: 0)"},
        {"--clip", OPTION_NUMBER, &w.clip, "X", "longest gradient (default: any)"},
        {"--schedule", OPTION_TEXT, &w.schedule, "KIND", "cosine, exponential, constant"},
        {"--decay", OPTION_NUMBER, &w.decay, "X", "exponential: per epoch (default: 0.95)"},
        {"--floor", OPTION_NUMBER, &w.floor, "X", "cosine: last part of the rate (default: 0)"},
        {"--warmup", OPTION_NUMBER, &w.warmup, "X", "epochs in which the rate rises"},
        {"--average", OPTION_NUMBER, &w.average, "X", "keep a running mean of the parameters"},
        {"--epochs", OPTION_COUNT, &w.epochs, "N", "at most (default: 50)"},
        {"--patience", OPTION_COUNT, &w.patience, "N", "end after N epochs without a better one"},
        {"--batch", OPTION_TEXT, &w.batch, "N", "windows in a step, or auto (default: 32)"},
        {"--accumulate", OPTION_COUNT, &w.accumulate, "N", "batches that make one update"},
        {"--memory", OPTION_TEXT, &w.memory, "SIZE", "at most, such as 512M"},
        {"--dtype", OPTION_TEXT, &w.dtype, "TYPE", "of products: f32, bf16, f16 (default: f32)"},
        {"--seed", OPTION_WHOLE, &w.seed, "N", "of values, order and dropout (default: 0)"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "the model (model.safetensors)"},
        {"--checkpoint", OPTION_TEXT, &w.checkpoint, "FILE", "kept (default: beside the model)"},
        {"--every", OPTION_COUNT, &w.every, "N", "steps between checkpoints (default: 10 s)"},
        {"--resume", OPTION_FLAG, &w.resume, NULL, "go on from the checkpoint"},
        {"--keep-last", OPTION_FLAG, &w.keep_last, NULL, "the last parameters, not the best"},
        {"--log", OPTION_TEXT, &w.log, "FILE", "a line of JSON for each epoch"},
        {"--curve", OPTION_TEXT, &w.curve, "FILE", "losses over epochs as SVG"},
        {"--quiet", OPTION_FLAG, &w.quiet, NULL, "no progress"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print the result as JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "train [CONFIG.json] --data FILES --target COLUMNS [OPTIONS]",
        "Trains a model on the rows of tables: .csv, .npy or .npz. CONFIG.json has the same\n"
        "options as keys; the command line goes before it. Inputs are standardised, labels\n"
        "and units are kept in the model. Ctrl-C saves; --resume goes on to the same bits.\n"
        "Exit codes: 0 done, 1 failed, 2 usage, 130 stopped and saved.",
        options,
        "  elegans train --data room.csv --target Occupied --time date --model ltc:autoncp:32:2\n"
        "  elegans train --data x.npz --inputs x --target y --spans dt --epochs 20 --curve c.svg\n"
        "  elegans train walker.json --data walker.npz --memory 512M --resume\n"};
    json *config = NULL;
    int code = read_options(&use, argc, argv, &config);
    if (code < 0) code = start(&w, &flags);
    json_free(config);
    return code;
}
