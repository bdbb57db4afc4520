/* Data sets: creation, parts that share rows, queries, destruction. */
#include "base/abi.h"
#include "engine/context.h"
#include "train/data.h"

#include <math.h>
#include <string.h>

const char *eg_missing_name(eg_missing missing) {
    static const char *const names[] = {"error", "drop", "previous", "mean", "zero"};
    return (unsigned)missing < 5 ? names[missing] : NULL;
}

/* ---- memory */
void *eg__data_take(eg__memory *memory, size_t count, size_t size, eg_status *status,
                    eg_error *error) {
    if (*status) return NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    void *block = eg__memory_take_array(memory, EG_TAG_TENSOR, count, size, &reason);
    if (!block) *status = eg__fail(error, reason.status, "%s", reason.message);
    return block;
}

const char **eg__data_texts(eg__memory *memory, size_t count, eg__text_at text, const void *user,
                            eg_status *status, eg_error *error) {
    char scratch[EG_NUMBER_SIZE];
    size_t size = 0;
    bool fits = eg__size_mul(count, sizeof(char *), &size);
    for (size_t i = 0; i < count; i++)
        fits = fits && eg__size_add(size, strlen(text(user, i, scratch)) + 1, &size);
    if (!fits && !*status) *status = eg__fail(error, EG_ERR_OVERFLOW, "names do not fit");
    const char **names = eg__data_take(memory, size, 1, status, error);
    if (!names) return NULL;
    char *at = (char *)(names + count);
    for (size_t i = 0; i < count; i++) {
        const char *from = text(user, i, scratch);
        const size_t length = strlen(from) + 1;
        names[i] = memcpy(at, from, length);
        at += length;
    }
    return names;
}

static void store_release(eg__store *s) {
    if (__atomic_sub_fetch(&s->users, 1, __ATOMIC_ACQ_REL) != 0) return;
    void *const blocks[] = {s->x,
                            s->y,
                            s->timespans,
                            s->times,
                            s->mean,
                            s->starts,
                            s->table_starts,
                            s->origins,
                            s->missing_before,
                            s->dropped_before,
                            (void *)s->input_names,
                            (void *)s->target_names,
                            (void *)s->class_names};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        eg__memory_give(s->memory, blocks[i]);
    eg__memory_give(s->memory, s);
}

/* ---- parts */
eg_status eg__data_part(eg__store *store, size_t count, eg_data **out, eg_error *error) {
    eg_status status = EG_OK;
    eg_data *data = eg__data_take(store->memory, 1, sizeof *data, &status, error);
    eg__window *windows = eg__data_take(store->memory, count, sizeof *windows, &status, error);
    if (status) {
        eg__memory_give(store->memory, data);
        return status;
    }
    __atomic_add_fetch(&store->users, 1, __ATOMIC_RELAXED);
    data->store = store;
    data->count = count;
    data->windows = windows;
    *out = data;
    return EG_OK;
}

/* Missing targets of a row. */
static void count_targets(eg_data *data, uint64_t row) {
    const eg__store *s = data->store;
    uint64_t missing = 0;
    for (uint64_t i = 0; i < s->targets; i++) missing += isnan(s->y[row * s->targets + i]) != 0;
    data->missing_targets += missing;
    data->without_target += s->targets && missing == s->targets;
}

/* Each row once: windows overlap, but their first rows ascend. */
static void count_rows(eg_data *data) {
    const eg__store *s = data->store;
    uint64_t done = 0;
    for (size_t i = 0; i < data->count; i++) {
        const eg__window w = data->windows[i];
        const uint64_t end = w.first + w.length, from = w.first > done ? w.first : done;
        if (s->last) count_targets(data, end - 1);
        if (from >= end) continue;
        data->covered += end - from;
        data->missing += s->missing_before[end] - s->missing_before[from];
        data->dropped += s->dropped_before[end] - s->dropped_before[from];
        for (uint64_t row = from; !s->last && row < end; row++) count_targets(data, row);
        done = end;
    }
}

void eg__data_measure(eg_data *data) {
    uint64_t shortest = UINT64_MAX;
    data->steps = 0;
    count_rows(data);
    for (size_t i = 0; i < data->count; i++) {
        const uint64_t length = data->windows[i].length;
        if (length > data->steps) data->steps = length;
        if (length < shortest) shortest = length;
    }
    data->lengths = data->count && shortest != data->steps;
}

void eg_data_destroy(eg_data *data) {
    if (!data) return;
    eg__store *store = data->store;
    eg__memory_give(store->memory, data->windows);
    eg__memory_give(store->memory, data);
    store_release(store);
}

/* ---- made from tables */
static eg_status check_options(const eg_data_options *o, eg_error *error) {
    if (!eg_missing_name(o->missing))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown policy %d for missing values",
                        (int)o->missing);
    if (o->time && o->timespans)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "both a column of times '%.40s' and one of elapsed times "
                        "'%.40s' are given: use one",
                        o->time, o->timespans);
    if (!isfinite((float)o->first_timespan))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the elapsed time %g before the first row is not a finite "
                        "number >= 0",
                        o->first_timespan);
    if (o->classes && !o->targets)
        return eg__fail(error, EG_ERR_ARGUMENT, "class labels are given, but no target column");
    for (size_t i = 0; o->classes && o->labels && i < o->label_count; i++)
        if (!o->labels[i]) return eg__fail(error, EG_ERR_ARGUMENT, "label %zu is NULL", i + 1);
    if (o->classes && o->labels && !o->label_count)
        return eg__fail(error, EG_ERR_ARGUMENT, "the list of labels is empty");
    return EG_OK;
}

static eg_status read_tables(eg__reader *r, eg_data **out, eg_error *error) {
    const eg_data_options *o = r->options;
    eg__store *s = r->store;
    const eg_status status = eg__reader_columns(r, error);
    if (status) return status;
    if (o->classes) {
        const eg_status classes = eg__reader_classes(r, error);
        if (classes) return classes;
    }
    const eg_status rows = eg__reader_rows(r, error);
    if (rows) return rows;
    s->last = o->last != 0;
    return eg__data_windows(s, o, out, error);
}

eg_status eg_data_create(eg_context *context, size_t table_count, const eg_table *tables,
                         const eg_data_options *given, eg_data **out, eg_error *error) {
    eg_data_options kept, *const options = &kept;
    if (out) *out = NULL;
    if (!context || !tables || !table_count || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "data: no context, tables or output pointer");
    eg_status status = EG__OPTIONS(eg_data_options, &kept, given, error);
    if (!status) status = check_options(options, error);
    eg__memory *memory = eg__context_memory(context);
    eg__store *store = eg__data_take(memory, 1, sizeof *store, &status, error);
    if (status) return status;
    store->memory = memory;
    store->users = 1;
    eg__reader reader = {.store = store,
                         .table_count = table_count,
                         .tables = tables,
                         .options = options,
                         .time = EG__NO_COLUMN,
                         .timespans = EG__NO_COLUMN,
                         .group = EG__NO_COLUMN};
    status = read_tables(&reader, out, error);
    eg__memory_give(memory, reader.inputs);
    eg__memory_give(memory, reader.targets);
    eg__memory_give(memory, reader.numbers);
    store_release(store); /* the part holds a reference now; without a part everything is freed */
    return status;
}

/* ---- questions */
void eg_data_info_get(const eg_data *data, eg_data_info *out) {
    const eg__store *s = data->store;
    eg_data_info info = {.rows = s->rows,
                         .covered = data->covered,
                         .recordings = s->recordings,
                         .windows = data->count,
                         .steps = data->steps,
                         .inputs = s->inputs,
                         .targets = s->targets,
                         .classes = s->classes,
                         .missing = data->missing,
                         .dropped = data->dropped,
                         .missing_targets = data->missing_targets,
                         .without_target = data->without_target,
                         .timespans = s->timespans != NULL,
                         .span = s->span,
                         .dates = s->dates,
                         .lengths = data->lengths,
                         .last = s->last};
    EG__INFO(eg_data_info, out, &info);
}

const char *eg_data_input(const eg_data *data, size_t index) {
    return index < data->store->inputs ? data->store->input_names[index] : NULL;
}

const char *eg_data_target(const eg_data *data, size_t index) {
    return index < data->store->targets ? data->store->target_names[index] : NULL;
}

const char *eg_data_class(const eg_data *data, size_t index) {
    return index < data->store->classes ? data->store->class_names[index] : NULL;
}

void eg_data_window(const eg_data *data, uint64_t window, uint64_t *first, uint64_t *length) {
    const eg__window w =
        window < data->count ? data->windows[window] : (eg__window){data->store->rows, 0};
    if (first) *first = w.first;
    if (length) *length = w.length;
}

void eg_data_row(const eg_data *data, uint64_t row, size_t *table, uint64_t *table_row) {
    const eg__store *s = data->store;
    size_t low = 0, high = s->tables; /* table_starts[low] <= row < table_starts[high] */
    const bool exists = row < s->rows;
    while (exists && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (s->table_starts[middle] <= row) low = middle;
        else high = middle;
    }
    if (table) *table = exists ? low : s->tables;
    if (table_row) *table_row = exists ? s->origins[row] : 0;
}
