/* Units of a data set: mean and deviation of columns, and the median time between rows. */
#include "base/abi.h"
#include "train/data.h"

#include <math.h>
#include <stdlib.h>

/* Calls `row` for every row of the windows, once: windows overlap, but their first rows ascend. */
typedef void (*row_function)(void *user, uint64_t row);
static void each_row(size_t count, const eg__window *windows, row_function row, void *user) {
    uint64_t done = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = windows[i].first + windows[i].length;
        for (uint64_t k = windows[i].first > done ? windows[i].first : done; k < end; k++)
            row(user, k);
        if (end > done) done = end;
    }
}

/* ---- mean and deviation in double, two passes */
typedef struct column {
    double counted, mean, squares;
    float first; /* of the values */
    bool changes;
} column;

typedef struct statistics {
    const float *values;
    size_t columns;
    column *of;
} statistics;

static void add_values(void *user, uint64_t row) {
    const statistics *s = user;
    const float *values = s->values + row * s->columns;
    for (size_t i = 0; i < s->columns; i++) {
        if (isnan(values[i])) continue;
        column *c = &s->of[i];
        if (!c->counted) c->first = values[i];
        c->changes = c->changes || values[i] != c->first;
        c->counted++;
        c->mean += (double)values[i];
    }
}

static void add_squares(void *user, uint64_t row) {
    const statistics *s = user;
    const float *values = s->values + row * s->columns;
    for (size_t i = 0; i < s->columns; i++) {
        const double d = (double)values[i] - s->of[i].mean;
        if (!isnan(values[i])) s->of[i].squares += d * d;
    }
}

eg_status eg__data_statistics(eg__memory *memory, size_t count, const eg__window *windows,
                              const float *values, size_t columns, float *mean, float *scale,
                              eg_error *error) {
    eg_status status = EG_OK;
    statistics s = {values, columns, eg__data_take(memory, columns, sizeof *s.of, &status, error)};
    if (status) return status;
    each_row(count, windows, add_values, &s);
    for (size_t i = 0; i < columns; i++)
        s.of[i].mean = s.of[i].counted ? s.of[i].mean / s.of[i].counted : 0;
    if (scale) each_row(count, windows, add_squares, &s);
    for (size_t i = 0; i < columns; i++) {
        const column *c = &s.of[i];
        if (mean) mean[i] = c->changes ? (float)c->mean : c->first;
        const float deviation = c->changes ? (float)sqrt(c->squares / c->counted) : 1;
        if (scale) scale[i] = deviation > 0 ? deviation : 1;
    }
    eg__memory_give(memory, s.of);
    return EG_OK;
}

/* ---- the median */
typedef struct positives {
    const float *timespans;
    float *values; /* NULL = only count */
    size_t count;
} positives;

static void add_positive(void *user, uint64_t row) {
    positives *p = user;
    if (!(p->timespans[row] > 0)) return;
    if (p->values) p->values[p->count] = p->timespans[row];
    p->count++;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

eg_status eg__data_median(eg__memory *memory, size_t count, const eg__window *windows,
                          const float *timespans, float *out, eg_error *error) {
    positives p = {.timespans = timespans};
    eg_status status = EG_OK;
    each_row(count, windows, add_positive, &p);
    *out = 1;
    if (!p.count) return EG_OK;
    p.values = eg__data_take(memory, p.count, sizeof *p.values, &status, error);
    if (status) return status;
    p.count = 0;
    each_row(count, windows, add_positive, &p);
    qsort(p.values, p.count, sizeof *p.values, compare);
    const double low = (double)p.values[(p.count - 1) / 2], high = (double)p.values[p.count / 2];
    *out = (float)((low + high) / 2);
    eg__memory_give(memory, p.values);
    return EG_OK;
}

eg_status eg_data_scaling(const eg_data *data, int targets, float *input_mean, float *input_scale,
                          float *target_mean, float *target_scale, float *time, eg_error *error) {
    if (!data) return eg__fail(error, EG_ERR_ARGUMENT, "units: no data");
    const eg__store *s = data->store;
    const bool outputs = targets && s->targets;
    if (targets && s->classes) return eg__fail(error, EG_ERR_ARGUMENT, "classes have no units");
    if (!input_mean || !input_scale || (outputs && (!target_mean || !target_scale)))
        return eg__fail(error, EG_ERR_ARGUMENT, "units: no output pointer");
    eg_status status = eg__data_statistics(s->memory, data->count, data->windows, s->x,
                                           (size_t)s->inputs, input_mean, input_scale, error);
    if (!status && outputs)
        status = eg__data_statistics(s->memory, data->count, data->windows, s->y,
                                     (size_t)s->targets, target_mean, target_scale, error);
    if (!time || status) return status;
    *time = 1;
    if (!s->timespans) return EG_OK;
    return eg__data_median(s->memory, data->count, data->windows, s->timespans, time, error);
}

/* ---- targets of a part */
typedef struct asked {
    const eg__store *store;
    size_t index; /* of the target */
    float class;
    uint64_t rows; /* of the class */
    eg_target_info info;
} asked;

static void look_at(void *user, uint64_t row) {
    asked *a = user;
    const float y = a->store->y[row * a->store->targets + a->index];
    if (isnan(y)) return;
    a->info.rows++;
    a->info.least = fmin(a->info.least, (double)y);
    a->info.most = fmax(a->info.most, (double)y);
    a->info.zeros += y == 0;
    a->info.ones += y == 1;
    a->rows += y == a->class;
}

static void look(const eg_data *data, asked *a) {
    for (size_t i = 0; a->store->last && i < data->count; i++)
        look_at(a, data->windows[i].first + data->windows[i].length - 1);
    if (!a->store->last) each_row(data->count, data->windows, look_at, a);
}

void eg_data_target_info(const eg_data *data, size_t index, eg_target_info *out) {
    /* NaN, which fmin and fmax ignore */
    asked a = {.store = data->store, .index = index, .info = {.least = NAN, .most = NAN}};
    const bool there = index < data->store->targets;
    if (there) look(data, &a);
    EG__INFO(eg_target_info, out, there ? &a.info : &(const eg_target_info){0});
}

uint64_t eg_data_class_rows(const eg_data *data, size_t index) {
    asked a = {.store = data->store, .class = (float)index};
    if (index >= data->store->classes) return 0;
    look(data, &a);
    return a.rows;
}
