/* Sequences from .csv and .npy files: features, and times that become elapsed times. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rows of numbers, whichever file they come from. */
typedef struct rows {
    eg_table table;  /* names and numbers of columns; values of a CSV */
    eg_tensor array; /* f32, [.., columns] */
} rows;

static double value_at(const rows *r, uint64_t row, uint64_t column) {
    const uint64_t at = row * r->table.columns + column;
    return r->table.values ? r->table.values[at] : (double)((const float *)r->array.data)[at];
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* Any type that becomes f32 without loss. */
static int read_array(eg_context *context, const char *path, eg_tensor *out) {
    eg_error error;
    eg_tensor raw;
    if (eg_npy_read(context, path, &raw, &error)) return fail(EXIT_FAILED, "%s", error.message);
    if (raw.type == EG_F32) {
        *out = raw;
        return -1;
    }
    int code = -1;
    if (eg_tensor_create(context, EG_F32, raw.rank, raw.shape, out, &error) ||
        eg_tensor_convert(context, &raw, out, &error))
        code = fail(EXIT_FAILED, "'%s': %s", path, error.message);
    eg_tensor_release(context, &raw);
    return code;
}

static int read_rows(eg_context *context, const char *path, rows *r, run_data *data) {
    eg_error error;
    data->batch = 1;
    if (!ends_with(path, ".npy")) {
        if (eg_table_read(context, path, NULL, &r->table, &error))
            return fail(EXIT_FAILED, "%s", error.message);
        data->steps = r->table.rows;
        return -1;
    }
    int code = read_array(context, path, &r->array);
    if (code >= 0) return code;
    const eg_tensor *a = &r->array;
    if (a->rank != 2 && a->rank != 3)
        return fail(EXIT_FAILED,
                    "'%s' has rank %u: neither [steps, features] nor [samples, steps, features]",
                    path, a->rank);
    data->batched = a->rank == 3;
    if (data->batched) data->batch = a->shape[0];
    data->steps = a->shape[a->rank - 2];
    r->table.columns = a->shape[a->rank - 1];
    return -1;
}

/* ---- kinds: only times may be dates, and nothing may be a label */

static bool is_value(const char *text, bool date) {
    const size_t length = strlen(text);
    double value;
    return !eg_number_parse(text, length, &value, NULL) ||
           (date && !eg_date_parse(text, length, &value, NULL));
}

static int refuse_column(const rows *r, uint64_t column, bool date, const char *path) {
    const eg_table *t = &r->table;
    const eg_column *kind = &t->kinds[column];
    char name[80] = "";
    if (t->names) snprintf(name, sizeof name, " ('%.60s')", t->names[column]);
    for (uint64_t i = 0; kind->kind == EG_COLUMN_LABEL && i < t->rows; i++) {
        const double label = value_at(r, i, column);
        const char *text = isnan(label) ? "0" : kind->labels[(size_t)label];
        if (!is_value(text, date))
            return fail(EXIT_FAILED, "line %llu, field %llu%s: '%.60s' is no number%s in '%s'",
                        (unsigned long long)t->lines[i], (unsigned long long)column + 1, name, text,
                        date ? " and no date" : "", path);
    }
    return fail(EXIT_FAILED, "column %llu%s has dates%s in '%s'", (unsigned long long)column + 1,
                name, date ? " and numbers" : ", not numbers", path);
}

static int check_kinds(const run_wish *wish, const rows *r, uint64_t time) {
    for (uint64_t i = 0; r->table.kinds && i < r->table.columns; i++) {
        const eg_column_kind kind = r->table.kinds[i].kind;
        const bool date = wish->time && i == time;
        if (kind != EG_COLUMN_NUMBER && !(date && kind == EG_COLUMN_DATE))
            return refuse_column(r, i, date, wish->input);
    }
    return -1;
}

/* ---- times */

int run_first_span(const run_wish *wish, double *out) {
    *out = 1;
    if (!wish->first) return -1;
    if (!wish->time) return fail(EXIT_USAGE, "--first-span needs --time");
    if (eg_number_parse(wish->first, strlen(wish->first), out, NULL) || !(*out >= 0) || isinf(*out))
        return fail(EXIT_USAGE, "--first-span: '%s' is no elapsed time", wish->first);
    return -1;
}

/* Differences are taken in double: times since 1970 have no room for milliseconds in f32. */
static int read_spans(eg_context *context, const run_wish *wish, const rows *r, uint64_t column,
                      run_data *data) {
    eg_error error;
    double first;
    int code = run_first_span(wish, &first);
    if (code >= 0) return code;
    const uint64_t shape[] = {data->batch, data->steps};
    if (eg_tensor_create(context, EG_F32, 2, shape, &data->spans, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    float *to = data->spans.data;
    for (uint64_t i = 0; i < data->batch * data->steps; i++) {
        const double now = value_at(r, i, column);
        if (wish->spans) to[i] = (float)now;
        else if (i % data->steps == 0) to[i] = (float)(isnan(now) ? now : first);
        else to[i] = (float)(now - value_at(r, i - 1, column));
    }
    if (eg_model_check_spans(to, data->batch, data->steps, 1, &error))
        return fail(EXIT_FAILED, "%s in '%s'", error.message, wish->input);
    return -1;
}

/* ---- features */

static int read_features(eg_context *context, const run_wish *wish, const rows *r, uint64_t skipped,
                         uint64_t inputs, run_data *data) {
    eg_error error;
    const uint64_t shape[] = {data->batch, data->steps, inputs};
    if (eg_tensor_create(context, EG_F32, 3, shape, &data->x, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    float *to = data->x.data;
    for (uint64_t i = 0; i < data->batch * data->steps; i++)
        for (uint64_t k = 0; k < r->table.columns; k++) {
            if (k == skipped) continue;
            const double value = value_at(r, i, k);
            /* one would make the state, and with it every later output, NaN */
            if (isnan(value))
                return fail(EXIT_FAILED,
                            "column %llu has no value at sample %llu, step %llu in '%s'",
                            (unsigned long long)k + 1, (unsigned long long)(i / data->steps),
                            (unsigned long long)(i % data->steps), wish->input);
            *to++ = (float)value;
        }
    return -1;
}

static int take(eg_context *context, const run_wish *wish, const eg_model_info *info, const rows *r,
                run_data *data) {
    const char *name = wish->time ? wish->time : wish->spans;
    uint64_t column = UINT64_MAX;
    eg_error error;
    if (name && eg_table_column(&r->table, name, &column, &error))
        return fail(EXIT_FAILED, "%s in '%s'", error.message, wish->input);
    int code = check_kinds(wish, r, column);
    if (code >= 0) return code;
    const uint64_t features = r->table.columns - (name != NULL);
    if (features != info->inputs)
        return fail(EXIT_FAILED, "%llu features in '%s'%s, the model takes %llu%s",
                    (unsigned long long)features, wish->input, name ? " beside the time" : "",
                    (unsigned long long)info->inputs,
                    !name && features == info->inputs + 1 ? " (is one of them the time? --time)"
                                                          : "");
    if (!data->batch || !data->steps) return fail(EXIT_FAILED, "no step in '%s'", wish->input);
    code = name ? read_spans(context, wish, r, column, data) : -1;
    return code < 0 ? read_features(context, wish, r, column, info->inputs, data) : code;
}

int run_read(eg_context *context, const run_wish *wish, const eg_model_info *info, run_data *data) {
    rows r = {0};
    int code = read_rows(context, wish->input, &r, data);
    if (code < 0) code = take(context, wish, info, &r, data);
    eg_table_release(context, &r.table);
    eg_tensor_release(context, &r.array);
    return code;
}

/* ---- states */

int run_read_state(eg_context *context, const run_wish *wish, const eg_model_info *info,
                   run_data *data) {
    eg_error error;
    const uint64_t shape[] = {data->batch, info->state};
    if (!wish->state) {
        if (eg_tensor_create(context, EG_F32, 2, shape, &data->states, &error))
            return fail(EXIT_FAILED, "%s", error.message);
        return -1;
    }
    int code = read_array(context, wish->state, &data->states);
    if (code >= 0) return code;
    uint64_t found = 0;
    eg_tensor_measure(&data->states, &found, NULL, NULL);
    if (found != data->batch * info->state)
        return fail(EXIT_FAILED, "%llu values in '%s', samples: %llu, with a state of %llu each",
                    (unsigned long long)found, wish->state, (unsigned long long)data->batch,
                    (unsigned long long)info->state);
    data->states.rank = 2;
    memcpy(data->states.shape, shape, sizeof shape);
    return -1;
}
