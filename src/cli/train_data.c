/* Tables as data sets. */
#include "train.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of policies */
static int missing_parse(const char *name, eg_missing *out) {
    *out = EG_MISSING_ERROR;
    if (!name) return -1;
    for (int i = 0; eg_missing_name((eg_missing)i); i++)
        if (strcmp(name, eg_missing_name((eg_missing)i)) == 0) {
            *out = (eg_missing)i;
            return -1;
        }
    return fail(EXIT_USAGE, "--missing: '%s' is not error, drop, previous, mean or zero", name);
}

int data_check(const data_wish *w) {
    if (w->whole && (w->window || w->stride))
        return fail(EXIT_USAGE, "--whole has no --%s", w->window ? "window" : "stride");
    if (w->time && w->spans)
        return fail(EXIT_USAGE, "--time and --spans say the same: one of them");
    if (w->no_header && w->short_header)
        return fail(EXIT_USAGE, "--no-header and --short-header exclude each other");
    return -1;
}

/* ---- files */
static size_t count_files(const char *files) {
    size_t count = 1;
    for (const char *at = files; (at = strchr(at, ',')); at++) count++;
    return count;
}

static int read_one(eg_context *context, const char *path, const data_wish *wish, eg_table *out) {
    const eg_table_options options = {.short_header = wish->short_header,
                                      .no_header = wish->no_header};
    eg_error error;
    if (eg_table_read(context, path, &options, out, &error))
        return fail(EXIT_FAILED, "%s", error.message);
    return -1;
}

static int read_all(eg_context *context, const char *files, const data_wish *wish,
                    eg_table *tables) {
    char *list = strdup(files);
    if (!list) return fail(EXIT_FAILED, "no memory");
    int code = -1;
    char *rest = list, *path;
    for (size_t i = 0; code < 0 && (path = strsep(&rest, ",")); i++)
        code = read_one(context, path, wish, &tables[i]);
    free(list);
    return code;
}

static bool is_label(const eg_table *table, const char *column) {
    uint64_t index;
    return column && table->kinds && eg_table_column(table, column, &index, NULL) == EG_OK &&
           table->kinds[index].kind == EG_COLUMN_LABEL;
}

int data_read(eg_context *context, const char *files, const data_wish *wish,
              const eg_data_options *more, int *classes, eg_data **out) {
    const size_t count = count_files(files);
    eg_data_options o = more ? *more : (eg_data_options){0};
    *out = NULL;
    int code = missing_parse(wish->missing, &o.missing);
    if (code >= 0) return code;
    eg_table *tables = calloc(count, sizeof *tables);
    if (!tables) return fail(EXIT_FAILED, "no memory");
    code = read_all(context, files, wish, tables);
    if (code < 0) {
        if (*classes < 0) *classes = is_label(&tables[0], wish->target);
        o.inputs = wish->inputs;
        o.targets = wish->target;
        o.time = wish->time;
        o.spans = wish->spans;
        o.group = wish->group;
        o.classes = *classes && wish->target;
        o.ahead = wish->ahead;
        o.window = wish->whole ? 0 : wish->window ? wish->window : 64;
        o.stride = wish->stride ? wish->stride : (o.window + 1) / 2;
        o.partial = wish->partial;
        o.last = wish->last;
        eg_error error;
        if (eg_data_create(context, count, tables, &o, out, &error))
            code = fail(EXIT_FAILED, "%s: %s", files, error.message);
    }
    for (size_t i = 0; i < count; i++) eg_table_release(context, &tables[i]);
    free(tables);
    return code;
}

const char **data_labels(const eg_data *data, size_t *count) {
    for (*count = 0; eg_data_class(data, *count);) ++*count;
    const char **labels = malloc((*count + 1) * sizeof *labels);
    for (size_t i = 0; labels && i < *count; i++) labels[i] = eg_data_class(data, i);
    return labels;
}

const char *counted(char out[64], uint64_t count, const char *thing) {
    snprintf(out, 64, "%llu %s%s", (unsigned long long)count, thing, count == 1 ? "" : "s");
    return out;
}

void data_print(const char *name, const eg_data *data) {
    char value[200], windows[64], steps[64], recordings[64], note[96] = "counted";
    eg_data_info d;
    eg_data_info_get(data, &d);
    snprintf(value, sizeof value, "%s of %s, %s", counted(windows, d.windows, "window"),
             counted(steps, d.steps, "step"), counted(recordings, d.recordings, "recording"));
    if (d.missing) snprintf(note, sizeof note, "%s missing", counted(windows, d.missing, "input"));
    print_row(name, value, note);
}
