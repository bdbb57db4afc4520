/* Sequences from tables and arrays, read as `predict` reads them: the columns that the model learned, the
 * times between rows, what is missing; and states. */
#include "cli/commands/run.h"
#include "cli/commands/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds: only times may be dates, and nothing may be a label */

static bool is_value(const char *text, bool date) {
    const size_t length = strlen(text);
    double value;
    return !eg_number_parse(text, length, &value, NULL) ||
           (date && !eg_date_parse(text, length, &value, NULL));
}

static int refuse_column(const eg_table *t, uint64_t column, bool date, const char *path) {
    const eg_column *kind = &t->kinds[column];
    char name[80] = "";
    if (t->names) snprintf(name, sizeof name, " ('%.60s')", t->names[column]);
    for (uint64_t i = 0; kind->kind == EG_COLUMN_LABEL && i < t->rows; i++) {
        const double label = t->values[i * t->columns + column];
        const char *text = isnan(label) ? "0" : kind->labels[(size_t)label];
        if (!is_value(text, date))
            return fail(EXIT_FAILED, "line %llu, field %llu%s: '%.60s' is not a number%s%s in '%s'",
                        (unsigned long long)t->lines[i], (unsigned long long)column + 1, name, text,
                        date ? " or a date" : "", eg_table_hint(text), path);
    }
    return fail(EXIT_FAILED, "column %llu%s has dates%s in '%s'", (unsigned long long)column + 1,
                name, date ? " and numbers" : ", not numbers", path);
}

/* ---- which columns */

/* What to make of the table: what was asked for, then what the model remembers. */
typedef struct columns {
    data_settings settings;
    notes notes;
    bool named;    /* the table has names, and the model says which it takes */
    uint64_t time; /* the column with times or spans; UINT64_MAX = none */
} columns;

static bool has_column(const eg_table *t, const char *name) {
    for (uint64_t i = 0; name && t->names && i < t->columns; i++)
        if (strcmp(t->names[i], name) == 0) return true;
    return false;
}

/* A column that the model remembers is used where the table has it. */
static int find_columns(const run_settings *settings, const eg_model *model, const eg_table *t,
                        columns *c) {
    eg_error error;
    data_settings remembered = {0};
    *c = (columns){.time = UINT64_MAX};
    int code = notes_read(model, &remembered, &c->notes);
    if (code) return code;
    c->named = t->names && c->notes.data.inputs;
    const bool said = settings->time || settings->timespans;
    if (c->named) c->settings.inputs = c->notes.data.inputs;
    c->settings.time = settings->time;
    c->settings.timespans = settings->timespans;
    if (c->named && !said && has_column(t, remembered.time)) c->settings.time = remembered.time;
    if (c->named && !said && has_column(t, remembered.timespans))
        c->settings.timespans = remembered.timespans;
    if (c->named && has_column(t, remembered.group)) c->settings.group = remembered.group;
    c->settings.missing = remembered.missing;
    const char *name = c->settings.time ? c->settings.time : c->settings.timespans;
    if (name && eg_table_column(t, name, &c->time, &error))
        return fail(EXIT_FAILED, "%s in '%s'", error.message, settings->input);
    return CLI_OK;
}

/* Without names every column but the time is a feature. */
static int check_columns(const run_settings *settings, const eg_model_info *info, const eg_table *t,
                         const columns *c) {
    const bool timed = c->time != UINT64_MAX;
    for (uint64_t i = 0; t->kinds && i < t->columns; i++) {
        const eg_column_kind kind = t->kinds[i].kind;
        const bool date = c->settings.time && i == c->time;
        if (c->named && i != c->time) continue;
        if (kind != EG_COLUMN_NUMBER && !(date && kind == EG_COLUMN_DATE))
            return refuse_column(t, i, date, settings->input);
    }
    const uint64_t features = t->columns - timed;
    if (!c->named && features != info->inputs)
        return fail(EXIT_FAILED, "%llu features in '%s'%s, the model takes %llu%s",
                    (unsigned long long)features, settings->input, timed ? " beside the time" : "",
                    (unsigned long long)info->inputs,
                    !timed && features == info->inputs + 1 ? " (is one of them the time? --time)"
                                                           : "");
    return t->rows ? CLI_OK : fail(EXIT_FAILED, "no step in '%s'", settings->input);
}

int run_first_span(const run_settings *settings, const eg_model *model, bool timed, double *out) {
    *out = (double)eg_model_timespan(model);
    if (!settings->first) return CLI_OK;
    if (!timed) return fail(EXIT_USAGE, "--first-span needs --time");
    if (eg_number_parse(settings->first, strlen(settings->first), out, NULL) || !(*out >= 0) ||
        isinf(*out))
        return fail(EXIT_USAGE, "--first-span: '%s' is no elapsed time", settings->first);
    return CLI_OK;
}

/* ---- rows */

static int make_data(eg_context *context, const run_settings *settings, const eg_model *model,
                     const eg_table *t, const columns *c, eg_data **out) {
    double first;
    eg_missing missing = EG_MISSING_ERROR;
    eg_error error;
    int code = run_first_span(settings, model, c->settings.time != NULL, &first);
    if (!code) code = missing_parse(c->settings.missing, &missing);
    if (code) return code;
    /* what the training put where nothing was; rows that it left out have an answer here, and need values */
    const bool left_out = missing == EG_MISSING_DROP;
    const eg_data_options o = {.inputs = c->settings.inputs,
                               .time = c->settings.time,
                               .timespans = c->settings.timespans,
                               .first_timespan = first > 0 ? first : -1,
                               .group = c->settings.group,
                               .missing = left_out ? EG_MISSING_ERROR : missing};
    if (eg_data_create(context, 1, t, &o, out, &error))
        return fail(EXIT_FAILED, "%s in '%s'%s", error.message, settings->input,
                    left_out && strstr(error.message, "no value")
                        ? "; elegans predict leaves such rows out, as the training did"
                        : "");
    return CLI_OK;
}

static int fill(eg_context *context, const eg_model *model, const eg_data *rows, bool timed,
                run_data *data) {
    eg_error error;
    eg_scaling units;
    eg_data_info info = {.size = sizeof info};
    eg_data_info_get(rows, &info);
    eg_model_scaling_get(model, &units);
    units = (eg_scaling){.input_mean = units.input_mean}; /* what is missing */
    const uint64_t shape[] = {data->batch, data->steps, info.inputs};
    if (eg_tensor_create(context, EG_F32, 3, shape, &data->x, &error) ||
        (timed && eg_tensor_create(context, EG_F32, 2, shape, &data->timespans, &error)))
        return fail_with(&error);
    for (uint64_t i = 0; i < data->batch; i++) {
        const eg_train_batch one = {
            .x = (float *)data->x.data + i * data->steps * info.inputs,
            .timespans = timed ? (float *)data->timespans.data + i * data->steps : NULL};
        eg_data_fill(rows, &units, i, 1, data->steps, 0, &one);
    }
    return CLI_OK;
}

static int take(eg_context *context, const run_settings *settings, const eg_model *model,
                const eg_table *t, const columns *c, run_data *data) {
    eg_model_info info = {.size = sizeof info};
    eg_data *rows = NULL;
    eg_data_info d = {.size = sizeof d};
    eg_model_info_get(model, &info);
    int code = check_columns(settings, &info, t, c);
    if (!code) code = make_data(context, settings, model, t, c, &rows);
    if (code) return code;
    eg_data_info_get(rows, &d);
    data->batched = t->steps != 0;
    data->batch = d.recordings;
    data->steps = d.steps;
    if (d.recordings > 1 && !data->batched)
        code = fail(EXIT_FAILED,
                    "'%s' has %llu recordings by '%s', as the model learned them: run takes one; "
                    "elegans predict takes all",
                    settings->input, (unsigned long long)d.recordings, c->settings.group);
    if (!code && d.inputs != info.inputs)
        code = fail(EXIT_FAILED, "%llu %s in '%s', the model takes %llu features",
                    (unsigned long long)d.inputs,
                    c->named ? "columns that its notes name" : "columns with a name",
                    settings->input, (unsigned long long)info.inputs);
    if (!code) code = fill(context, model, rows, c->time != UINT64_MAX, data);
    eg_data_destroy(rows);
    return code;
}

int run_read(eg_context *context, const run_settings *settings, const eg_model *model,
             run_data *data) {
    eg_table table;
    eg_error error;
    columns c;
    eg_table_options options;
    table_settings how = settings->table;
    notes_dates(model, &how);
    int code = table_options(&how, &options);
    if (code) return code;
    if (eg_table_read(context, settings->input, &options, &table, &error)) return fail_with(&error);
    code = find_columns(settings, model, &table, &c);
    if (!code) code = take(context, settings, model, &table, &c, data);
    notes_free(&c.notes);
    eg_table_release(context, &table);
    return code;
}

/* ---- states */

int run_read_state(eg_context *context, const run_settings *settings, const eg_model_info *info,
                   run_data *data) {
    eg_error error;
    const uint64_t shape[] = {data->batch, info->state};
    if (!settings->state) {
        if (eg_tensor_create(context, EG_F32, 2, shape, &data->states, &error))
            return fail_with(&error);
        return CLI_OK;
    }
    eg_table table;
    const eg_table_options numbers = {.numbers_only = 1};
    if (eg_table_read(context, settings->state, &numbers, &table, &error)) return fail_with(&error);
    const uint64_t found = table.rows * table.columns;
    int code = CLI_OK;
    if (found != data->batch * info->state)
        code = fail(EXIT_FAILED, "%llu values in '%s', samples: %llu, with a state of %llu each",
                    (unsigned long long)found, settings->state, (unsigned long long)data->batch,
                    (unsigned long long)info->state);
    else if (eg_tensor_create(context, EG_F32, 2, shape, &data->states, &error))
        code = fail_with(&error);
    float *to = data->states.data;
    for (uint64_t i = 0; !code && i < found; i++) to[i] = (float)table.values[i];
    eg_table_release(context, &table);
    return code;
}
