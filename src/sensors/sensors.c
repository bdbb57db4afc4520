/* Sensors: all sources read one after the other, their readings in the order of the list. */
#include "base/abi.h"
#include "engine/context.h"
#include "sensors/sensing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static eg__source *const sources[] = {
#define SOURCE(name, text) eg__source_##name,
#include "sensors/sources.def"
};

static const struct {
    const char *name, *unit, *text;
} rows[EG_SENSOR_COUNT] = {
#define ROW(name, unit, text) {#name, unit, text},
    EG_SENSOR_MAP(ROW)
#undef ROW
};

static bool known(eg_sensor sensor) { return (unsigned)sensor < EG_SENSOR_COUNT; }
const char *eg_sensor_name(eg_sensor sensor) { return known(sensor) ? rows[sensor].name : NULL; }
const char *eg_sensor_unit(eg_sensor sensor) { return known(sensor) ? rows[sensor].unit : NULL; }
const char *eg_sensor_text(eg_sensor sensor) { return known(sensor) ? rows[sensor].text : NULL; }

/* ---- readings */
static eg_reading *reading_add(eg_sensors *s, eg_sensor sensor, const char *label) {
    if (!eg__memory_grow(s->memory, EG_TAG_MEASURE, (void **)&s->readings, s->count, &s->room, 1,
                         sizeof *s->readings)) {
        s->short_of_memory = true;
        return NULL;
    }
    eg_reading *r = &s->readings[s->count++];
    *r = (eg_reading){.sensor = sensor};
    snprintf(r->label, sizeof r->label, "%s", label);
    return r;
}

void eg__sensing_put(eg_sensors *s, eg_sensor sensor, const char *label, double value,
                     eg_provenance provenance, const char *source) {
    if (!isfinite(value)) { /* garbage, or a number beyond all units */
        eg__sensing_missing(s, sensor, "%s: a value that is no number", source);
        return;
    }
    eg_reading *r = reading_add(s, sensor, label);
    if (!r) return;
    r->metric = eg__metric(value, rows[sensor].unit, provenance, NULL);
    snprintf(r->source, sizeof r->source, "%s", source);
}

void eg__sensing_missing(eg_sensors *s, eg_sensor sensor, const char *why, ...) {
    eg_reading *r = reading_add(s, sensor, "");
    if (!r) return;
    r->metric = eg__metric_unavailable(rows[sensor].unit, NULL);
    va_list list;
    va_start(list, why);
    vsnprintf(r->source, sizeof r->source, why, list);
    va_end(list);
}

/* ---- counters */
static eg__counter *counter_of(eg_sensors *s, const char *source, const char *name, bool *first) {
    uint64_t key = eg__hash(EG__HASH_SEED, source, strlen(source) + 1);
    key = eg__hash(key, name, strlen(name));
    for (size_t i = 0; i < s->counter_count; i++)
        if (s->counters[i].key == key) {
            *first = false;
            return &s->counters[i];
        }
    if (!eg__memory_grow(s->memory, EG_TAG_MEASURE, (void **)&s->counters, s->counter_count,
                         &s->counter_room, 1, sizeof *s->counters)) {
        s->short_of_memory = true;
        return NULL;
    }
    eg__counter *c = &s->counters[s->counter_count++];
    c->key = key;
    *first = true;
    return c;
}

bool eg__sensing_delta(eg_sensors *s, const char *source, const char *name, double value,
                       double wrap, double *delta, double *seconds) {
    bool first;
    eg__counter *c = isfinite(value) && isfinite(wrap) ? counter_of(s, source, name, &first) : NULL;
    if (!c) return false;
    const uint64_t now = eg_clock_ns();
    const double before = c->value, since = (double)(now - c->read_ns) * 1e-9;
    c->value = value;
    c->read_ns = now;
    *delta = value >= before ? value - before : value + wrap - before;
    *seconds = since;
    /* below what it was, without a value to continue from, or with one that it has passed: a reset */
    return !first && since > 0 && (value >= before || (wrap > 0 && before <= wrap));
}

void eg__sensing_energy_add(eg_sensors *s, const char *rail, double joules, double seconds,
                            const char *source) {
    bool first;
    eg__counter *sum = isfinite(joules) ? counter_of(s, "energy of rails", rail, &first) : NULL;
    if (!sum) return;
    sum->value += joules;
    eg__sensing_put(s, EG_SENSOR_power, rail, joules / seconds, EG_MEASURED, source);
    eg__sensing_put(s, EG_SENSOR_energy, rail, sum->value, EG_MEASURED, source);
}

void eg__sensing_energy(eg_sensors *s, const char *rail, double joules, double wrap,
                        const char *source) {
    double delta, seconds;
    if (eg__sensing_delta(s, source, rail, joules, wrap, &delta, &seconds))
        eg__sensing_energy_add(s, rail, delta, seconds, source);
}

/* ---- samples */

/* In the order of the sensors, those of one sensor as their sources put them. A sensor without any reading says
 * why: the first reason that a source gave. */
static void arrange(eg_sensors *s) {
    bool has[EG_SENSOR_COUNT] = {0};
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        has[s->readings[i].sensor] |= s->readings[i].metric.provenance != EG_UNAVAILABLE;
    for (size_t i = 0; i < s->count; i++) {
        const eg_reading r = s->readings[i];
        const bool missing = r.metric.provenance == EG_UNAVAILABLE;
        if (missing && has[r.sensor]) continue;
        has[r.sensor] |= missing; /* one reason is enough */
        size_t at = kept++;
        for (; at > 0 && s->readings[at - 1].sensor > r.sensor; at--)
            s->readings[at] = s->readings[at - 1];
        s->readings[at] = r;
    }
    s->count = kept;
    for (size_t i = 0; i < kept; i++) s->readings[i].metric.source = s->readings[i].source;
}

static eg_status read_all(eg_sensors *s, eg_error *error) {
    s->count = 0;
    s->short_of_memory = false;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) sources[i](s);
    for (int i = 0; i < EG_SENSOR_COUNT; i++)
        eg__sensing_missing(s, (eg_sensor)i, "no source of this system reports it");
    if (s->short_of_memory)
        return eg__fail(error, EG_ERR_MEMORY, "no memory for the readings of %zu sensors",
                        s->count);
    arrange(s);
    return EG_OK;
}

eg_status eg_sensors_open(eg_context *context, const eg_sensors_options *options, eg_sensors **out,
                          eg_error *error) {
    eg_sensors_options kept;
    if (!out) return eg__fail(error, EG_ERR_ARGUMENT, "no output pointer for the sensors");
    *out = NULL;
    if (!context) return eg__fail(error, EG_ERR_ARGUMENT, "no context");
    eg_status status = EG__OPTIONS(eg_sensors_options, &kept, options, error);
    if (status) return status;
    eg__memory *memory = eg__context_memory(context);
    eg_sensors *s = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *s, error);
    if (!s) return EG_ERR_MEMORY;
    s->memory = memory;
    s->chip = &context->chip;
    if (kept.root) {
        s->root = eg__memory_take_text(memory, EG_TAG_MEASURE, kept.root, strlen(kept.root), error);
        if (!s->root) status = EG_ERR_MEMORY;
    }
    if (!status) eg__sensors_system_open(s);
    if (!status) status = read_all(s, error);
    s->sampled_ns = eg_clock_ns();
    if (status) eg_sensors_close(s);
    else *out = s;
    return status;
}

void eg_sensors_close(eg_sensors *s) {
    if (!s) return;
    eg__sensors_system_close(s);
    eg__memory_give(s->memory, s->counters);
    eg__memory_give(s->memory, s->readings);
    eg__memory_give(s->memory, s->root);
    eg__memory_give(s->memory, s);
}

eg_status eg_sensors_read(eg_sensors *s, eg_sensor_sample *out, eg_error *error) {
    if (!s || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no sensors, or no output pointer");
    const eg_status status = read_all(s, error);
    if (status) return status;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t clock = eg_clock_ns();
    const eg_sensor_sample sample = {.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                                     .elapsed = (double)(clock - s->sampled_ns) * 1e-9,
                                     .count = s->count,
                                     .readings = s->readings};
    s->sampled_ns = clock;
    EG__INFO(eg_sensor_sample, out, &sample);
    return EG_OK;
}

const eg_reading *eg_sensor_find(const eg_sensor_sample *sample, eg_sensor sensor,
                                 const char *label) {
    for (size_t i = 0; sample && label && i < sample->count; i++)
        if (sample->readings[i].sensor == sensor && strcmp(sample->readings[i].label, label) == 0)
            return &sample->readings[i];
    return NULL;
}
