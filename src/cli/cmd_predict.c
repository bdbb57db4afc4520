/* elegans predict: what a trained model says of tables, row by row. */
#include "language.h"
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_wish {
    data_wish data;
    const char *model, *files, *output;
    uint64_t digits;
    bool json;
} predict_wish;

typedef struct prediction {
    const predict_wish *wish;
    const eg_data *data;
    notes notes;
    uint64_t outputs, rows;
    float *values; /* [rows][outputs] */
    bool *there;   /* [rows] */
    FILE *file;
} prediction;

static void keep(void *user, uint64_t window, uint64_t steps, const float *outputs) {
    prediction *p = user;
    uint64_t first, length;
    eg_data_window(p->data, window, &first, &length);
    first += length - steps; /* one output: that of the last row */
    memcpy(p->values + first * p->outputs, outputs, (size_t)(steps * p->outputs) * sizeof *outputs);
    memset(p->there + first, 1, (size_t)steps);
}

/* ---- writing */
static void write_text(FILE *file, const char *before, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fprintf(file, "%s%s", before, text);
        return;
    }
    fprintf(file, "\"%s", before);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_number(const prediction *p, float value) {
    char text[EG_NUMBER_SIZE];
    if (p->wish->digits) fprintf(p->file, "%.*f", (int)p->wish->digits, (double)value);
    else {
        eg_number_format_f32(text, value);
        fputs(text, p->file);
    }
}

static const char *label_of(const prediction *p, uint64_t index) {
    return index < p->notes.label_count ? p->notes.labels[index] : NULL;
}

static const char *target_of(const prediction *p, const eg_model *model, uint64_t index,
                             char scratch[32]) {
    const char *name = eg_model_note(model, "targets", (size_t)index);
    if (name) return name;
    snprintf(scratch, 32, "y%llu", (unsigned long long)index + 1);
    (void)p;
    return scratch;
}

static void write_header(const prediction *p, const eg_model *model, bool several) {
    char scratch[32];
    fputs(several ? "file,row" : "row", p->file);
    if (p->notes.loss == EG_LOSS_CLASSES) {
        fputc(',', p->file);
        write_text(p->file, "", target_of(p, model, 0, scratch));
    }
    for (uint64_t i = 0; i < p->outputs; i++) {
        const bool classes = p->notes.loss == EG_LOSS_CLASSES;
        fputc(',', p->file);
        snprintf(scratch, sizeof scratch, "%llu", (unsigned long long)i);
        if (!classes) write_text(p->file, "", target_of(p, model, i, scratch));
        else write_text(p->file, "p_", label_of(p, i) ? label_of(p, i) : scratch);
    }
    fputc('\n', p->file);
}

/* Classes: the most likely one, then how likely each is. Binary: how likely. Else numbers. */
static void write_values(const prediction *p, const float *y) {
    const uint64_t n = p->outputs;
    uint64_t most = 0;
    double sum = 0;
    char scratch[32];
    for (uint64_t i = 1; i < n; i++)
        if (y[i] > y[most]) most = i;
    for (uint64_t i = 0; i < n; i++) sum += exp((double)y[i] - (double)y[most]);
    if (p->notes.loss == EG_LOSS_CLASSES) {
        snprintf(scratch, sizeof scratch, "%llu", (unsigned long long)most);
        fputc(',', p->file);
        write_text(p->file, "", label_of(p, most) ? label_of(p, most) : scratch);
    }
    for (uint64_t i = 0; i < n; i++) {
        fputc(',', p->file);
        double value = (double)y[i];
        if (p->notes.loss == EG_LOSS_CLASSES) value = exp((double)y[i] - (double)y[most]) / sum;
        if (p->notes.loss == EG_LOSS_BINARY) value = 1 / (1 + exp(-(double)y[i]));
        write_number(p, (float)value);
    }
    fputc('\n', p->file);
}

static int write_rows(prediction *p, const eg_model *model) {
    const predict_wish *w = p->wish;
    output_file file;
    int code = output_begin(&file, w->output);
    if (code >= 0) return code;
    p->file = file.file;
    const bool several = strchr(w->files, ',') != NULL;
    write_header(p, model, several);
    for (uint64_t row = 0; row < p->rows; row++) {
        size_t table;
        uint64_t origin;
        if (!p->there[row]) continue;
        eg_data_row(p->data, row, &table, &origin);
        if (several) fprintf(p->file, "%zu,", table + 1);
        fprintf(p->file, "%llu", (unsigned long long)origin + 1);
        write_values(p, p->values + row * p->outputs);
    }
    return output_end(&file);
}

/* ---- everything */
static int summary(const prediction *p, const eg_data_info *d, double seconds) {
    const predict_wish *w = p->wish;
    uint64_t count = 0;
    for (uint64_t i = 0; i < p->rows; i++) count += p->there[i];
    if (w->json) {
        const eg_metric time = {seconds, EG_MEASURED, "s", "one run over all windows"};
        json *document = json_new_object();
        json_put_text(document, "model", w->model);
        json_put_text(document, "output", w->output);
        json_put_count(document, "rows", count);
        json_put_count(document, "windows", d->windows);
        json_put_metric(document, "seconds", &time);
        return json_print(document);
    }
    char value[96], text[32];
    if (!w->output) return EXIT_DONE;
    print_title(w->model, w->files);
    snprintf(value, sizeof value, "%llu of %llu", (unsigned long long)count,
             (unsigned long long)p->rows);
    print_row("rows", value, "counted");
    print_row("time", format_seconds(text, seconds), "measured");
    print_row("output", w->output, "");
    return EXIT_DONE;
}

static int predict(eg_context *context, const eg_model *model, predict_wish *w, prediction *p) {
    eg_data *data;
    eg_data_info d;
    eg_model_info info;
    int code = notes_read(model, &w->data, &p->notes), classes = 0;
    if (code >= 0) return code;
    const bool asked = w->data.stride != 0;
    w->data.target = NULL; /* nobody asks what they really were */
    w->data.ahead = 0;
    w->data.partial = true;
    if (!w->data.last) w->data.whole = true;
    else if (!asked) w->data.stride = 1;
    code = data_read(context, w->files, &w->data, NULL, &classes, &data);
    if (code >= 0) return code;
    p->data = data;
    eg_data_info_get(data, &d);
    eg_model_info_get(model, &info);
    p->rows = d.rows;
    p->outputs = info.outputs;
    p->values = calloc((size_t)d.rows + 1, (size_t)info.outputs * sizeof *p->values);
    p->there = calloc((size_t)d.rows + 1, sizeof *p->there);
    eg_error error;
    const eg_evaluate_options options = {.loss = EG_LOSS_MSE, .outputs = keep, .user = p};
    const uint64_t start = eg_clock_ns();
    if (!p->values || !p->there) code = fail(EXIT_FAILED, "no memory");
    else if (eg_evaluate(model, data, &options, NULL, NULL, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    const double seconds = (double)(eg_clock_ns() - start) * 1e-9;
    if (code < 0) code = write_rows(p, model);
    if (code < 0) code = summary(p, &d, seconds);
    eg_data_destroy(data);
    free(p->values);
    free(p->there);
    return code;
}

int cmd_predict(int argc, char **argv) {
    predict_wish w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--data", OPTION_TEXT, &w.files, "FILES", "tables, separated by commas"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write CSV there (default: stdout)"},
        {"--digits", OPTION_COUNT, &w.digits, "N", "digits after the point (default: all)"},
        DATA_OPTIONS(w.data),
        {"--json", OPTION_FLAG, &w.json, NULL, "print what it took as JSON; with --output"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "predict MODEL --data FILES [OPTIONS]",
        "Writes a row for each row of the tables: its number, and what the model says of it,\n"
        "in the units of the tables; of classes, the most likely one and how likely each is.\n"
        "Columns are those of the training. A model that was trained with --last answers for\n"
        "the last row of each window.",
        options,
        "  elegans predict model.safetensors --data today.csv --output said.csv\n"
        "  elegans predict model.safetensors --data today.csv --digits 3 | tail -1\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code >= 0) return code;
    if (rest != 1 || !w.files) return fail(EXIT_USAGE, "predict needs a model and --data FILES");
    if (w.json && !w.output) return fail(EXIT_USAGE, "--json needs --output FILE");
    if ((code = data_check(&w.data)) >= 0) return code;
    if (w.output && !output_device(w.output) && files_have(w.files, w.output))
        return fail(EXIT_USAGE, "--output '%s' would overwrite the data", w.output);
    if (w.json && !json_usable()) return json_print(NULL);
    if (w.digits > 17)
        return fail(EXIT_USAGE, "--digits: %llu is not within 1..17", (unsigned long long)w.digits);
    w.model = argv[0];
    eg_context *context;
    eg_model *model;
    eg_error error;
    prediction p = {.wish = &w};
    code = context_open(&flags, &context);
    if (code >= 0) return code;
    if (eg_model_open(context, w.model, &model, &error))
        code = fail(EXIT_FAILED, "%s", error.message);
    else {
        code = language_refuse(model, "predict");
        if (code < 0) code = predict(context, model, &w, &p);
        notes_free(&p.notes);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    return code;
}
