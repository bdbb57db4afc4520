/* A recording, line by line, as the samples it was made of. */
#include "base/base.h"
#include "monitor/monitor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static eg_status bad(const eg__replay *r, eg_error *error, const char *format, ...) EG_PRINTF(3, 4);
static eg_status bad(const eg__replay *r, eg_error *error, const char *format, ...) {
    char fault[200];
    va_list list;
    va_start(list, format);
    vsnprintf(fault, sizeof fault, format, list);
    va_end(list);
    return eg__fail(error, EG_ERR_FORMAT, "line %zu of '%.80s': %s", r->line, r->path, fault);
}

static void copy_text(char *out, size_t size, const eg__json_value *object, const char *key) {
    snprintf(out, size, "%s", eg__json_text(object, key));
}

/* ---- figures */
static int provenance_of(const char *name) {
    static const char *const names[] = {
#define NAME(id, text) text,
        EG_PROVENANCE_MAP(NAME)
#undef NAME
    };
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* `name` and `unit` are those of our own table; the recording must mean the same. */
static eg_status read_metric(const eg__replay *r, const eg__json_value *object, const char *name,
                             const char *unit, eg_metric *out, eg_error *error) {
    const eg__json_value *m = eg__json_get(object, "metric");
    const char *provenance = eg__json_text(m, "provenance"), *theirs = eg__json_text(m, "unit");
    const int known = provenance_of(provenance);
    const double value = eg__json_number(m, "value");
    if (known < 0) return bad(r, error, "provenance '%.40s' of '%s' is none", provenance, name);
    if (strcmp(theirs, unit ? unit : "") != 0)
        return bad(r, error, "'%s' is in '%s', not in '%.40s'", name, unit ? unit : "", theirs);
    if (known != EG_UNAVAILABLE && !isfinite(value))
        return bad(r, error, "the value of '%s' is not a number", name);
    *out = known == EG_UNAVAILABLE
               ? eg__metric_unavailable(unit, eg__json_text(m, "reason"))
               : eg__metric(value, unit, (eg_provenance)known, eg__json_text(m, "source"));
    return EG_OK;
}

static const char *sensor_at(void *user, size_t index) {
    (void)user;
    return index < EG_SENSOR_COUNT ? eg_sensor_name((eg_sensor)index) : NULL;
}
static const char *figure_at(void *user, size_t index) {
    (void)user;
    return index < EG_FIGURE_COUNT ? eg_figure_name((eg_figure)index) : NULL;
}

/* The number of a name, or -1 and a message. */
static int find(const eg__replay *r, const char *what, const char *name,
                const char *(*name_at)(void *, size_t), eg_error *error) {
    char meant[EG_DID_YOU_MEAN_SIZE];
    for (size_t i = 0; name_at(NULL, i); i++)
        if (strcmp(name_at(NULL, i), name) == 0) return (int)i;
    bad(r, error, "unknown %s '%.40s'%s", what, name, eg_did_you_mean(meant, name, name_at, NULL));
    return -1;
}

static eg_status no_memory(eg_error *error) {
    return eg__fail(error, EG_ERR_MEMORY, "no memory for a sample of a recording");
}

/* ---- the machine */
static eg_status read_readings(eg__replay *r, eg__memory *memory, const eg__json_value *list,
                               eg_monitor_sample *out, eg_error *error) {
    const size_t count = eg__json_length(list);
    if (!eg__memory_grow(memory, EG_TAG_MEASURE, (void **)&r->readings, 0, &r->reading_room, count,
                         sizeof *r->readings))
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const eg__json_value *object = eg__json_item(list, i);
        eg_reading *reading = &r->readings[i];
        *reading = (eg_reading){0};
        const int sensor = find(r, "sensor", eg__json_text(object, "sensor"), sensor_at, error);
        if (sensor < 0) return EG_ERR_FORMAT;
        reading->sensor = (eg_sensor)sensor;
        copy_text(reading->label, sizeof reading->label, object, "label");
        const eg_status status =
            read_metric(r, object, eg_sensor_name(reading->sensor), eg_sensor_unit(reading->sensor),
                        &reading->metric, error);
        if (status) return status;
        snprintf(reading->source, sizeof reading->source, "%s", reading->metric.source);
        reading->metric.source = reading->source;
    }
    out->readings = r->readings;
    out->reading_count = count;
    return EG_OK;
}

/* ---- programs */
static eg_status read_figures(const eg__replay *r, const eg__json_value *list, eg_published *out,
                              eg_error *error) {
    for (int i = 0; i < EG_FIGURE_COUNT; i++)
        out->figures[i] =
            eg__metric_unavailable(eg_figure_unit((eg_figure)i), "not in the recording");
    for (size_t i = 0; i < eg__json_length(list); i++) {
        const eg__json_value *object = eg__json_item(list, i);
        const int figure = find(r, "figure", eg__json_text(object, "figure"), figure_at, error);
        if (figure < 0) return EG_ERR_FORMAT;
        const eg_status status =
            read_metric(r, object, eg_figure_name((eg_figure)figure),
                        eg_figure_unit((eg_figure)figure), &out->figures[figure], error);
        if (status) return status;
    }
    return EG_OK;
}

/* Lists of all programs lie behind each other; they are pointed to when none of them moves any more. */
static eg_status read_losses(eg__replay *r, eg__memory *memory, const eg__json_value *list,
                             eg_published *out, eg_error *error) {
    const size_t count = eg__json_length(list);
    if (count > EG_LOSS_POINTS)
        return bad(r, error, "%zu losses, at most %d are possible", count, EG_LOSS_POINTS);
    if (!eg__memory_grow(memory, EG_TAG_MEASURE, (void **)&r->losses, r->loss_count, &r->loss_room,
                         count, sizeof *r->losses))
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const eg__json_value *point = eg__json_item(list, i);
        const double step = eg__json_item_number(point, 0), loss = eg__json_item_number(point, 1);
        if (!(step >= 0 && step < 9e18) || !isfinite(loss))
            return bad(r, error, "loss %zu is no step and number", i + 1);
        r->losses[r->loss_count + i] =
            (eg_loss_point){(uint64_t)step, loss, eg__json_item_number(point, 2)};
    }
    r->loss_count += count;
    out->loss_count = count;
    return EG_OK;
}

static eg_status read_operations(eg__replay *r, eg__memory *memory, const eg__json_value *list,
                                 eg_published *out, eg_error *error) {
    const size_t count = eg__json_length(list);
    if (count > EG_OPERATION_SHARES)
        return bad(r, error, "%zu operations, at most %d are possible", count, EG_OPERATION_SHARES);
    if (!eg__memory_grow(memory, EG_TAG_MEASURE, (void **)&r->operations, r->operation_count,
                         &r->operation_room, count, sizeof *r->operations))
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        eg_operation_share *share = &r->operations[r->operation_count + i];
        copy_text(share->name, sizeof share->name, eg__json_item(list, i), "name");
        share->share = eg__json_number(eg__json_item(list, i), "share");
    }
    r->operation_count += count;
    out->operation_count = count;
    return EG_OK;
}

static bool is_time(double seconds) { return fabs(seconds) < 9e9; } /* and a number */

static eg_status read_program(eg__replay *r, eg__memory *memory, const eg__json_value *object,
                              eg_published *out, eg_error *error) {
    const double pid = eg__json_number(object, "pid"), started = eg__json_number(object, "started");
    *out = (eg_published){0};
    if (!(pid >= 1 && pid <= INT32_MAX)) return bad(r, error, "a program has no pid");
    if (!is_time(started)) return bad(r, error, "a program has no time at which it started");
    out->pid = (uint64_t)pid;
    out->started_ns = (int64_t)llround(started * 1e9);
    copy_text(out->program, sizeof out->program, object, "program");
    copy_text(out->activity, sizeof out->activity, object, "activity");
    copy_text(out->model, sizeof out->model, object, "model");
    copy_text(out->verdict, sizeof out->verdict, object, "verdict");
    eg_status status = read_figures(r, eg__json_get(object, "figures"), out, error);
    if (!status) status = read_losses(r, memory, eg__json_get(object, "losses"), out, error);
    if (!status)
        status = read_operations(r, memory, eg__json_get(object, "operations"), out, error);
    return status;
}

static eg_status read_programs(eg__replay *r, eg__memory *memory, const eg__json_value *list,
                               eg_monitor_sample *out, eg_error *error) {
    const size_t count = eg__json_length(list);
    r->loss_count = r->operation_count = 0;
    if (!eg__memory_grow(memory, EG_TAG_MEASURE, (void **)&r->published, 0, &r->published_room,
                         count, sizeof *r->published))
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const eg_status status =
            read_program(r, memory, eg__json_item(list, i), &r->published[i], error);
        if (status) return status;
    }
    const eg_loss_point *losses = r->losses;
    const eg_operation_share *operations = r->operations;
    for (size_t i = 0; i < count; i++) {
        r->published[i].losses = losses;
        r->published[i].operations = operations;
        if (losses) losses += r->published[i].loss_count;
        if (operations) operations += r->published[i].operation_count;
    }
    out->published = r->published;
    out->published_count = count;
    return EG_OK;
}

/* ---- lines */
static eg_status read_line(eg__replay *r, eg__memory *memory, eg_monitor_sample *out,
                           eg_error *error) {
    static const char *const lists[] = {"readings", "programs"};
    const eg__json_value *d = r->document;
    const double time = eg__json_number(d, "time"), elapsed = eg__json_number(d, "elapsed"),
                 ignored = eg__json_number(d, "ignored");
    if (!is_time(time)) return bad(r, error, "'time' is missing, or no time");
    if (!(elapsed >= 0 && elapsed < 9e9)) return bad(r, error, "'elapsed' is missing, or no time");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!eg__json_is_list(eg__json_get(d, lists[i])))
            return bad(r, error, "'%s' is missing, or no list", lists[i]);
    *out = (eg_monitor_sample){.size = sizeof *out,
                               .time_ns = (int64_t)llround(time * 1e9),
                               .elapsed = elapsed,
                               .ignored = ignored >= 0 && ignored < 1e9 ? (size_t)ignored : 0,
                               .ignored_text = eg__json_text(d, "ignored_reason")};
    eg_status status = read_readings(r, memory, eg__json_get(d, "readings"), out, error);
    if (!status) status = read_programs(r, memory, eg__json_get(d, "programs"), out, error);
    return status;
}

eg_status eg__replay_open(eg__replay *r, eg__memory *memory, const char *path, eg_error *error) {
    eg__json_value *probe; /* a build without JSON says so before the first line */
    const eg_status status = eg__json_value_read(memory, "{}", 2, &probe, error);
    if (status) return status;
    eg__json_value_free(probe);
    r->path = path;
    return eg__mapping_open(&r->file, memory, path, true, error);
}

eg_status eg__replay_next(eg__replay *r, eg__memory *memory, eg_monitor_sample *out,
                          eg_error *error) {
    const char *text = (const char *)r->file.bytes;
    size_t length = 0;
    while (r->at < r->file.size && !length) { /* empty lines are none */
        const char *end = memchr(text + r->at, '\n', r->file.size - r->at);
        length = end ? (size_t)(end - text) - r->at : r->file.size - r->at;
        r->line++;
        if (!length) r->at++;
    }
    if (!length) return eg__fail(error, EG_ERR_STOPPED, "the recording '%.80s' has ended", r->path);
    const char *line = text + r->at;
    r->at += length;
    r->at += r->at < r->file.size;
    eg_error fault;
    eg__json_value_free(r->document);
    r->document = NULL;
    const eg_status status = eg__json_value_read(memory, line, length, &r->document, &fault);
    if (status == EG_ERR_FORMAT) return bad(r, error, "%s", fault.message);
    if (status) return eg__fail(error, status, "%s", fault.message);
    return read_line(r, memory, out, error);
}

void eg__replay_close(eg__replay *r, eg__memory *memory) {
    eg__json_value_free(r->document);
    eg__mapping_close(&r->file, memory);
    eg__memory_give(memory, r->readings);
    eg__memory_give(memory, r->published);
    eg__memory_give(memory, r->losses);
    eg__memory_give(memory, r->operations);
}
