/* Tables as data sets. */
#include "cli/commands/train.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of policies */
int missing_parse(const char *name, eg_missing *out) {
    *out = EG_MISSING_ERROR;
    if (!name) return CLI_OK;
    for (int i = 0; eg_missing_name((eg_missing)i); i++)
        if (strcmp(name, eg_missing_name((eg_missing)i)) == 0) {
            *out = (eg_missing)i;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "--missing: '%s' is not error, drop, previous, mean or zero", name);
}

int data_check(const data_settings *w) {
    if (w->whole && (w->window || w->stride))
        return fail(EXIT_USAGE, "--whole and --%s exclude each other",
                    w->window ? "window" : "stride");
    if (w->time && w->timespans) return fail(EXIT_USAGE, "--time and --spans exclude each other");
    eg_table_options ignored;
    return table_options(&w->table, &ignored);
}

/* ---- files */
static size_t count_files(const char *files) {
    size_t count = 1;
    for (const char *at = files; (at = strchr(at, ',')); at++) count++;
    return count;
}

static int read_one(eg_context *context, const char *path, const data_settings *settings,
                    eg_table *out) {
    eg_table_options options;
    const int code = table_options(&settings->table, &options);
    if (code) return code;
    options.texts = settings->time;
    eg_error error;
    if (eg_table_read(context, path, &options, out, &error)) return fail_with(&error);
    return CLI_OK;
}

static int read_all(eg_context *context, const char *files, const data_settings *settings,
                    eg_table *tables) {
    char *list = take_text(files);
    int code = CLI_OK;
    char *rest = list, *path;
    for (size_t i = 0; !code && (path = strsep(&rest, ",")); i++)
        code = read_one(context, path, settings, &tables[i]);
    free(list);
    return code;
}

/* A model that learned from recordings also runs over tables of one. */
static const char *group_of(const data_settings *settings, const eg_table *tables, size_t count) {
    uint64_t column;
    for (size_t i = 0; settings->group && settings->noted_group && i < count; i++)
        if (eg_table_column(&tables[i], settings->group, &column, NULL) == EG_ERR_NOT_FOUND) {
            warn("no column '%s', which begins a new recording: each file is taken as one",
                 settings->group);
            return NULL;
        }
    return settings->group;
}

uint64_t data_window(const data_settings *w) { return w->whole ? 0 : w->window ? w->window : 64; }

int data_open(eg_context *context, const char *files, const data_settings *settings,
              const eg_data_options *more, int *classes, data_tables *tables, eg_data **out) {
    eg_data_options o = more ? *more : (eg_data_options){0};
    *out = NULL;
    *tables = (data_tables){0};
    int code = missing_parse(settings->missing, &o.missing);
    if (code) return code;
    tables->count = count_files(files);
    tables->tables = take_memory(tables->count, sizeof *tables->tables);
    code = read_all(context, files, settings, tables->tables);
    if (code) return code;
    if (*classes < 0) *classes = eg_data_are_labels(tables->tables, settings->target);
    o.inputs = settings->inputs;
    o.targets = settings->target;
    o.time = settings->time;
    o.timespans = settings->timespans;
    o.first_timespan = settings->first_timespan;
    o.group = group_of(settings, tables->tables, tables->count);
    o.classes = *classes && settings->target;
    o.ahead = settings->ahead;
    o.window = data_window(settings);
    o.stride = settings->stride ? settings->stride : (o.window + 1) / 2;
    o.partial = settings->partial;
    o.last = settings->last;
    eg_error error;
    eg_status status = eg_data_create(context, tables->count, tables->tables, &o, out, &error);
    if (status == EG_ERR_ARGUMENT && !settings->window && !settings->whole && !o.partial) {
        o.partial = 1; /* nobody asked for windows that no recording has room for */
        if (!eg_data_create(context, tables->count, tables->tables, &o, out, NULL)) {
            warn("no recording has %llu rows, which --window is by default: each is one window",
                 (unsigned long long)o.window);
            return CLI_OK;
        }
    }
    const bool hole = status && strstr(error.message, "no value");
    return status ? fail(EXIT_FAILED, "%s: %s%s", files, error.message,
                         hole ? "; --missing drop, previous, mean or zero takes such rows" : "")
                  : CLI_OK;
}

void data_close(eg_context *context, data_tables *tables) {
    for (size_t i = 0; tables->tables && i < tables->count; i++)
        eg_table_release(context, &tables->tables[i]);
    free(tables->tables);
    *tables = (data_tables){0};
}

int data_read(eg_context *context, const char *files, const data_settings *settings,
              const eg_data_options *more, int *classes, eg_data **out) {
    data_tables tables;
    const int code = data_open(context, files, settings, more, classes, &tables, out);
    data_close(context, &tables);
    return code;
}

void data_once(data_settings *w) {
    w->partial = true;
    if (!w->last) w->whole = true;
    else if (!w->stride) w->stride = 1;
}

bool data_warn(const char *name, const eg_data *data, eg_loss loss) {
    const bool learned = strcmp(name, "training") == 0;
    bool usable = true;
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    for (size_t i = 0; i < d.classes; i++)
        if (!eg_data_class_rows(data, i))
            warn("the %s data have no row of class '%s': %s; see --split, --validation", name,
                 eg_data_class(data, i),
                 learned ? "it cannot be learned" : "it cannot be validated");
    const uint64_t rows = d.last ? d.windows : d.covered;
    for (size_t i = 0; !d.classes && i < d.targets; i++) {
        eg_target_info t = {.size = sizeof t};
        eg_data_target_info(data, i, &t);
        if (!t.rows && (learned || d.without_target == rows)) usable = false;
        else if (!t.rows)
            warn("the %s data have no value of target '%s': the others choose the best epoch", name,
                 eg_data_target(data, i));
        else if (loss == EG_LOSS_BINARY && t.least == t.most)
            warn("target '%s' is %g in all rows of the %s data; see --split, --validation",
                 eg_data_target(data, i), t.least, name);
    }
    return usable;
}

const char **data_labels(const eg_data *data, size_t *count) {
    for (*count = 0; eg_data_class(data, *count);) ++*count;
    const char **labels = take_memory(*count + 1, sizeof *labels);
    for (size_t i = 0; i < *count; i++) labels[i] = eg_data_class(data, i);
    return labels;
}

void data_print(const char *name, const eg_data *data) {
    char value[200], windows[64], steps[64], recordings[64], note[160] = "counted";
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    snprintf(value, sizeof value, "%s of %s, %s", format_count(windows, d.windows, "window"),
             format_count(steps, d.steps, "step"),
             format_count(recordings, d.recordings, "recording"));
    if (d.missing)
        snprintf(note, sizeof note, "%s missing", format_count(windows, d.missing, "input"));
    print_row(name, value, note);
    if (d.dropped) {
        snprintf(value, sizeof value, "%s: %s missing", format_count(windows, d.dropped, "row"),
                 format_count(steps, d.missing, "input"));
        print_row("  left out", value, "counted");
    }
    if (!d.missing_targets) return;
    const uint64_t rows = d.last ? d.windows : d.covered;
    snprintf(value, sizeof value, "%llu of %s; %s without any",
             (unsigned long long)d.missing_targets,
             format_count(windows, rows * d.targets, "target"),
             format_count(steps, d.without_target, "row"));
    print_row("  left out", value, "counted");
}

json *data_json(const eg_data *data) {
    eg_data_info d = {.size = sizeof d};
    eg_data_info_get(data, &d);
    json *object = json_new_object();
    json_put_count(object, "windows", d.windows);
    json_put_count(object, "steps", d.steps);
    json_put_count(object, "rows", d.covered);
    json_put_count(object, "missing_inputs", d.missing);
    json_put_count(object, "rows_dropped", d.dropped);
    json_put_count(object, "missing_targets", d.missing_targets);
    json_put_count(object, "rows_without_target", d.without_target);
    return object;
}
