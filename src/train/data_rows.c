/* Makes rows of recordings from rows of tables: missing values, elapsed times, future targets. */
#include "train/data.h"

#include <float.h>
#include <math.h>

/* The state of reading a recording. */
typedef struct place {
    size_t table;
    uint64_t row;
    const double *values; /* of the row */
    bool first;           /* no row of this recording was kept so far */
    bool timed;           /* a time was seen, */
    double time;          /* this one */
    double kept;          /* the time of the last row that was kept */
    double passed;        /* spans since then */
} place;

static bool fits_single(double value) { return fabs(value) <= (double)FLT_MAX; }

/* ---- the parts of a row, written where the next row of the store will be */
static eg_status read_inputs(eg__reader *r, const place *p, bool *dropped, eg_error *error) {
    eg__store *s = r->store;
    float *to = s->x + s->rows * s->inputs;
    const float *before = p->first ? NULL : to - s->inputs;
    for (uint64_t i = 0; i < s->inputs; i++) {
        const double value = p->values[r->inputs[i]];
        if (fits_single(value)) {
            to[i] = (float)value;
            continue;
        }
        if (!isnan(value))
            return eg__reader_fault(r, p->table, p->row, r->inputs[i], error,
                                    "'%g' is beyond a single float", value);
        s->missing++;
        switch (r->options->missing) {
        case EG_MISSING_ERROR:
            return eg__reader_fault(r, p->table, p->row, r->inputs[i], error, "no value");
        case EG_MISSING_DROP: *dropped = true; break;
        case EG_MISSING_PREVIOUS: to[i] = before ? before[i] : NAN; break;
        case EG_MISSING_MEAN: to[i] = NAN; break;
        case EG_MISSING_ZERO: to[i] = 0; break;
        }
    }
    return EG_OK;
}

static eg_status read_targets(eg__reader *r, const place *p, eg_error *error) {
    eg__store *s = r->store;
    const eg_table *t = &r->tables[p->table];
    const uint64_t row = p->row + r->options->ahead;
    for (uint64_t i = 0; i < s->targets; i++) {
        const double value = t->values[row * t->columns + r->targets[i]];
        float *to = s->y + s->rows * s->targets + i;
        *to = NAN;
        if (isnan(value)) continue;
        if (r->options->classes) {
            const eg_status status = eg__reader_class(r, p->table, row, to, error);
            if (status) return status;
        } else if (!fits_single(value)) {
            return eg__reader_fault(r, p->table, row, r->targets[i], error,
                                    "'%g' is beyond a single float", value);
        } else *to = (float)value;
    }
    return EG_OK;
}

/* The elapsed time since the last kept row; a dropped row may have no time. -1 = the first row of a
 * recording. */
static eg_status read_time(eg__reader *r, place *p, bool dropped, eg_error *error) {
    eg__store *s = r->store;
    const double time = p->values[r->time];
    if (isnan(time) && dropped) return EG_OK;
    if (isnan(time)) return eg__reader_fault(r, p->table, p->row, r->time, error, "no time");
    if (isinf(time))
        return eg__reader_fault(r, p->table, p->row, r->time, error, "time '%g' is not finite",
                                time);
    if (p->timed && time < p->time)
        return eg__reader_fault(r, p->table, p->row, r->time, error, "time goes back by %g",
                                p->time - time);
    p->timed = true;
    p->time = time;
    if (dropped) return EG_OK;
    const double span = p->first ? -1 : time - p->kept;
    if (!fits_single(span))
        return eg__reader_fault(r, p->table, p->row, r->time, error,
                                "'%g' since the row before is beyond a single float", span);
    s->times[s->rows] = p->kept = time;
    s->timespans[s->rows] = (float)span;
    return EG_OK;
}

static eg_status read_span(eg__reader *r, place *p, bool dropped, eg_error *error) {
    eg__store *s = r->store;
    if (r->time != EG__NO_COLUMN) return read_time(r, p, dropped, error);
    const double span = r->timespans == EG__NO_COLUMN ? 1 : p->values[r->timespans];
    if (isnan(span))
        return eg__reader_fault(r, p->table, p->row, r->timespans, error, "no elapsed time");
    if (span < 0)
        return eg__reader_fault(r, p->table, p->row, r->timespans, error,
                                "elapsed time '%g' is negative", span);
    p->passed += span;
    if (!fits_single(p->passed))
        return eg__reader_fault(r, p->table, p->row, r->timespans, error,
                                "elapsed time '%g' is beyond a single float", p->passed);
    if (dropped) return EG_OK;
    /* without a column of spans the first row has no predecessor: its span is 1 */
    s->timespans[s->rows] = p->first && r->timespans == EG__NO_COLUMN ? 1 : (float)p->passed;
    p->passed = 0;
    return EG_OK;
}

/* ---- recordings */
static void count_before(eg__store *s) {
    s->missing_before[s->rows] = s->missing;
    s->dropped_before[s->rows] = s->dropped;
}

static eg_status read_row(eg__reader *r, place *p, eg_error *error) {
    eg__store *s = r->store;
    bool dropped = false;
    eg_status status = read_inputs(r, p, &dropped, error);
    if (!status) status = read_span(r, p, dropped, error);
    if (!status && !dropped) status = read_targets(r, p, error);
    if (dropped) s->dropped++;
    if (status || dropped) return status;
    s->origins[s->rows++] = p->row;
    count_before(s);
    p->first = false;
    return EG_OK;
}

static eg_status read_recording(eg__reader *r, size_t table, uint64_t first, uint64_t end,
                                size_t *room, eg_error *error) {
    eg__store *s = r->store;
    const eg_table *t = &r->tables[table];
    const uint64_t ahead = s->targets ? r->options->ahead : 0, start = s->rows;
    place p = {.table = table, .first = true};
    if (end - first <= ahead) return EG_OK;
    count_before(s);
    for (p.row = first; p.row < end - ahead; p.row++) {
        p.values = t->values + p.row * t->columns;
        const eg_status status = read_row(r, &p, error);
        if (status) return status;
    }
    if (s->rows == start) return EG_OK;
    void *starts = s->starts;
    /* one more than recordings: the last end */
    const size_t used = s->recordings ? s->recordings + 1 : 0;
    if (!eg__memory_grow(s->memory, EG_TAG_TENSOR, &starts, used, room, 2, sizeof *s->starts))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for %zu recordings", s->recordings + 1);
    s->starts = starts;
    s->starts[s->recordings++] = start;
    s->starts[s->recordings] = s->rows;
    return EG_OK;
}

/* The row after the last one of the recording that begins at `first`. */
static eg_status find_end(const eg__reader *r, size_t table, uint64_t first, uint64_t *out,
                          eg_error *error) {
    const eg_table *t = &r->tables[table];
    const uint64_t left = t->rows - first;
    uint64_t end = t->steps && t->steps < left ? first + t->steps : t->rows;
    *out = end;
    if (r->group == EG__NO_COLUMN) return EG_OK;
    const double *group = t->values + first * t->columns + r->group;
    for (end = first; end < *out && !(*group != group[(end - first) * t->columns]); end++)
        ;
    if (isnan(*group)) return eg__reader_fault(r, table, first, r->group, error, "no group");
    *out = end;
    return EG_OK;
}

static eg_status read_tables(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    size_t room = 0;
    for (size_t i = 0; i < r->table_count; i++) {
        s->table_starts[i] = s->rows;
        for (uint64_t first = 0, end; first < r->tables[i].rows; first = end) {
            eg_status status = find_end(r, i, first, &end, error);
            if (!status) status = read_recording(r, i, first, end, &room, error);
            if (status) return status;
        }
    }
    s->table_starts[r->table_count] = s->rows;
    s->tables = r->table_count;
    count_before(s);
    if (!s->rows) return eg__fail(error, EG_ERR_ARGUMENT, "no row is left of all tables");
    return EG_OK;
}

/* ---- memory for all rows that there could be */
static eg_status take_rows(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    size_t rows = 0, x = 0, y = 0;
    bool fits = true;
    for (size_t i = 0; i < r->table_count; i++)
        fits = fits && eg__size_add(rows, (size_t)r->tables[i].rows, &rows);
    fits = fits && eg__size_mul(rows, (size_t)s->inputs, &x);
    fits = fits && eg__size_mul(rows, (size_t)s->targets, &y);
    if (!fits)
        return eg__fail(error, EG_ERR_OVERFLOW, "rows of %zu tables do not fit", r->table_count);
    eg_status status = EG_OK;
    s->x = eg__data_take(s->memory, x, sizeof *s->x, &status, error);
    s->y = eg__data_take(s->memory, y, sizeof *s->y, &status, error);
    s->timespans = eg__data_take(s->memory, rows, sizeof *s->timespans, &status, error);
    if (r->time != EG__NO_COLUMN)
        s->times = eg__data_take(s->memory, rows, sizeof *s->times, &status, error);
    s->origins = eg__data_take(s->memory, rows, sizeof *s->origins, &status, error);
    s->missing_before =
        eg__data_take(s->memory, rows + 1, sizeof *s->missing_before, &status, error);
    s->dropped_before =
        eg__data_take(s->memory, rows + 1, sizeof *s->dropped_before, &status, error);
    s->table_starts =
        eg__data_take(s->memory, r->table_count + 1, sizeof *s->table_starts, &status, error);
    s->mean = eg__data_take(s->memory, (size_t)s->inputs, sizeof *s->mean, &status, error);
    return status;
}

/* ---- computed after all rows were read */
static eg_status finish_spans(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    const eg__window all = {0, s->rows};
    const bool timed = r->time != EG__NO_COLUMN;
    const float first = (float)r->options->first_timespan;
    bool ones = r->timespans == EG__NO_COLUMN && !timed;
    const eg_status status = eg__data_median(s->memory, 1, &all, s->timespans, &s->span, error);
    if (status) return status;
    if (timed && first != 0) s->span = first > 0 ? first : 0;
    for (size_t i = 0; timed && i < s->recordings; i++) s->timespans[s->starts[i]] = s->span;
    for (uint64_t i = 0; ones && i < s->rows; i++) ones = s->timespans[i] == 1;
    if (!ones) return EG_OK;
    eg__memory_give(s->memory, s->timespans);
    s->timespans = NULL;
    return EG_OK;
}

eg_status eg__reader_rows(eg__reader *r, eg_error *error) {
    eg__store *s = r->store;
    eg_status status = take_rows(r, error);
    if (!status) status = read_tables(r, error);
    if (!status) status = finish_spans(r, error);
    if (status) return status;
    const eg__window all = {0, s->rows};
    return eg__data_statistics(s->memory, 1, &all, s->x, (size_t)s->inputs, s->mean, NULL, error);
}
