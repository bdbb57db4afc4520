/* elegans predict: what a trained model says of tables, row by row. */
#include "cli/commands/language.h"
#include "cli/commands/train.h"
#include "cli/publishing.h"

#include <stdlib.h>
#include <string.h>

typedef struct predict_settings {
    data_settings data;
    const char *model, *files, *output;
    uint64_t digits;
    bool raw, json;
} predict_settings;

typedef struct prediction {
    const predict_settings *settings;
    const eg_data *data;
    data_tables tables;
    notes notes;
    eg_link link; /* of the model, also with --raw */
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
static void write_number(const prediction *p, float value) {
    char text[EG_NUMBER_SIZE];
    if (p->settings->digits) fprintf(p->file, "%.*f", (int)p->settings->digits, (double)value);
    else {
        eg_number_format_f32(text, value);
        fputs(text, p->file);
    }
}

static const char *label_of(const prediction *p, uint64_t index) {
    return index < p->notes.data.label_count ? p->notes.data.labels[index] : NULL;
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
    const bool classes = p->link == EG_LINK_SOFTMAX, logits = p->settings->raw && p->link;
    const char *before = classes ? (logits ? "logit_" : "p_") : logits ? "logit_y" : "y";
    char scratch[32];
    fputs(several ? "file,row" : "row", p->file);
    if (p->settings->data.time) {
        uint64_t column = 0;
        const eg_table *table = &p->tables.tables[0];
        eg_table_column(table, p->settings->data.time, &column, NULL);
        fputc(',', p->file);
        output_text(p->file, table->names ? table->names[column] : "time");
    }
    if (classes) {
        fputc(',', p->file);
        output_text(p->file, target_of(p, model, 0, scratch));
    }
    for (uint64_t i = 0; i < p->outputs; i++) {
        char *name = output_name(model, p->link, p->settings->raw, i);
        snprintf(scratch, sizeof scratch, "%s%llu", before, (unsigned long long)i + !classes);
        fputc(',', p->file);
        output_text(p->file, name ? name : scratch);
        free(name);
    }
    fputc('\n', p->file);
}

/* What the model gives; of classes, the most likely one goes before it. */
static void write_values(const prediction *p, const float *y) {
    const uint64_t n = p->outputs;
    uint64_t most = 0;
    char scratch[32];
    for (uint64_t i = 1; i < n; i++)
        if (y[i] > y[most]) most = i;
    if (p->link == EG_LINK_SOFTMAX) {
        snprintf(scratch, sizeof scratch, "%llu", (unsigned long long)most);
        fputc(',', p->file);
        output_text(p->file, label_of(p, most) ? label_of(p, most) : scratch);
    }
    for (uint64_t i = 0; i < n; i++) {
        fputc(',', p->file);
        write_number(p, y[i]);
    }
    fputc('\n', p->file);
}

/* As it stands in the table; arrays have numbers. */
static void write_time(const prediction *p, size_t table, uint64_t row) {
    const eg_table *t = &p->tables.tables[table];
    char scratch[EG_NUMBER_SIZE];
    uint64_t column = 0;
    if (!p->settings->data.time || eg_table_column(t, p->settings->data.time, &column, NULL))
        return;
    fputc(',', p->file);
    if (!t->texts) eg_number_format(scratch, t->values[row * t->columns + column]);
    output_text(p->file, t->texts ? t->texts[row] : scratch);
}

static int write_rows(prediction *p, const eg_model *model) {
    const predict_settings *w = p->settings;
    output_file file;
    int code = output_begin(&file, w->output);
    if (code) return code;
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
        write_time(p, table, origin);
        write_values(p, p->values + row * p->outputs);
    }
    return output_end(&file);
}

/* ---- everything */
static int summary(const prediction *p, const eg_data_info *d, double seconds) {
    const predict_settings *w = p->settings;
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
    if (!w->output) return CLI_OK;
    print_title(w->model, w->files);
    snprintf(value, sizeof value, "%llu of %llu", (unsigned long long)count,
             (unsigned long long)p->rows);
    print_row("rows", value, "counted");
    print_row("time", format_seconds(text, seconds), "measured");
    print_row("output", w->output, "");
    return CLI_OK;
}

static int predict(eg_context *context, eg_model *model, predict_settings *w, prediction *p) {
    eg_data *data;
    eg_data_info d = {.size = sizeof d};
    eg_model_info info = {.size = sizeof info};
    int code = notes_read(model, &w->data, &p->notes), classes = 0;
    if (code) return code;
    p->link = eg_model_link(model);
    if (w->raw) eg_model_link_set(model, EG_LINK_IDENTITY, NULL);
    w->data.target = NULL; /* nobody asks what they really were */
    w->data.ahead = 0;
    data_once(&w->data);
    code = data_open(context, w->files, &w->data, NULL, &classes, &p->tables, &data);
    if (code) {
        data_close(context, &p->tables);
        return code;
    }
    p->data = data;
    eg_data_info_get(data, &d);
    eg_model_info_get(model, &info);
    p->rows = d.rows;
    p->outputs = info.outputs;
    p->values = take_memory((size_t)d.rows, (size_t)info.outputs * sizeof *p->values);
    p->there = take_memory((size_t)d.rows, sizeof *p->there);
    eg_error error;
    eg_publisher *publisher = publish_open(context, "predict", w->model, NULL, false);
    const eg_evaluate_options options = {.size = sizeof options,
                                         .loss = EG_LOSS_MSE,
                                         .outputs = keep,
                                         .user = p,
                                         .publisher = publisher};
    const uint64_t start = eg_clock_ns();
    if (eg_evaluate(model, data, &options, NULL, NULL, &error)) code = fail_with(&error);
    eg_publisher_close(publisher);
    const double seconds = (double)(eg_clock_ns() - start) * 1e-9;
    if (!code) code = write_rows(p, model);
    if (!code) code = summary(p, &d, seconds);
    eg_data_destroy(data);
    data_close(context, &p->tables);
    free(p->values);
    free(p->there);
    return code;
}

int cmd_predict(int argc, char **argv) {
    predict_settings w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--data", OPTION_TEXT, &w.files, "FILES", "tables, separated by commas"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write CSV there (default: stdout)"},
        {"--digits", OPTION_COUNT, &w.digits, "N", "digits after the point (default: all)"},
        {"--raw", OPTION_FLAG, &w.raw, NULL, "logits instead of probabilities"},
        DATA_OPTIONS(w.data, "with --last: rows of a window (default: as trained)",
                     "with --last: rows between predictions (default: 1)"),
        {"--json", OPTION_FLAG, &w.json, NULL, "print timings as JSON; with --output"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "predict MODEL --data FILES [OPTIONS]",
        "Writes a row for each row of the tables: its number, its time and the prediction in\n"
        "the units of the tables; for classes, the most likely one and all probabilities.\n"
        "Columns are those of the training. A model that was trained with --last predicts\n"
        "the last row of each window.",
        options,
        "  elegans predict model.safetensors --data today.csv --output said.csv\n"
        "  elegans predict model.safetensors --data today.csv --digits 3 | tail -1\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1 || !w.files) return fail(EXIT_USAGE, "predict needs a model and --data FILES");
    if (w.json && !w.output) return fail(EXIT_USAGE, "--json needs --output FILE");
    if ((code = data_check(&w.data)) != CLI_OK) return code;
    if (w.output && !output_device(w.output) && files_have(w.files, w.output))
        return fail(EXIT_USAGE, "--output '%s' would overwrite the data", w.output);
    if (w.json && !json_usable()) return json_print(NULL);
    if (w.digits > 17)
        return fail(EXIT_USAGE, "--digits: %llu is not within 1..17", (unsigned long long)w.digits);
    w.model = argv[0];
    eg_context *context;
    eg_model *model;
    eg_error error;
    prediction p = {.settings = &w};
    code = context_open(&flags, &context);
    if (code) return code;
    if (eg_model_open(context, w.model, &model, &error)) code = fail_with(&error);
    else {
        code = language_refuse(model, "predict");
        if (!code) code = predict(context, model, &w, &p);
        notes_free(&p.notes);
        eg_model_destroy(model);
    }
    eg_context_destroy(context);
    return code;
}
