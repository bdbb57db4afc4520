/* A sample as Prometheus and its relatives read it: OpenMetrics 1.0, or Prometheus' older text format. */
#include "base/base.h"
#include "monitor/monitor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum kind { GAUGE, COUNTER, SUMMARY, INFO } kind;
typedef struct row {
    const char *name, *unit;
    kind kind;
    double factor;
    const char *label; /* a quantile, or what tells readings apart */
} row;
static const row figures[EG_FIGURE_COUNT] = {
#define FIGURE(figure, name, unit, kind, factor, quantile) \
    [EG_FIGURE_##figure] = {name, unit, kind, factor, quantile},
#define SENSOR(sensor, name, unit, kind, factor, label)
#include "monitor/metrics.def"
#undef FIGURE
#undef SENSOR
};
static const row sensors[EG_SENSOR_COUNT] = {
#define FIGURE(figure, name, unit, kind, factor, quantile)
#define SENSOR(sensor, name, unit, kind, factor, label) \
    [EG_SENSOR_##sensor] = {name, unit, kind, factor, label},
#include "monitor/metrics.def"
#undef FIGURE
#undef SENSOR
};
/* What is neither. */
static const row version = {"elegans_build", "", INFO, 1, NULL};
static const row sample_time = {"elegans_sample_time_seconds", "seconds", GAUGE, 1, NULL};
static const row start_time = {"elegans_start_time_seconds", "seconds", GAUGE, 1, NULL};
static const row operations = {"elegans_operation_time_ratio", "ratio", GAUGE, 1, NULL};

/* ---- text that grows, with a failure that stays */
typedef struct writer {
    eg__memory *memory;
    char *text;
    size_t length, room;
    bool failed;
    bool open_metrics;
    const char *headed; /* the name whose head was written last */
    unsigned labels;    /* of the line that is being written */
} writer;

static void add(writer *w, const char *bytes, size_t size) {
    void *text = w->text;
    if (w->failed) return;
    /* one more for the terminator, which the grown part already is */
    w->failed =
        !eg__memory_grow(w->memory, EG_TAG_MEASURE, &text, w->length, &w->room, size + 1, 1);
    if (w->failed) return;
    w->text = text;
    memcpy(w->text + w->length, bytes, size);
    w->length += size;
    w->text[w->length] = 0;
}
static void put(writer *w, const char *text) { add(w, text, strlen(text)); }

/* Names come from other programs: what is no UTF-8 is shown as \xff, as everywhere. */
static void put_escaped(writer *w, const char *text) {
    while (*text) {
        char one[8] = "";
        const size_t size = eg_utf8_length(text);
        if (!size) snprintf(one, sizeof one, "\\\\x%02x", (unsigned)(unsigned char)*text);
        else if (*text == '\n') memcpy(one, "\\n", 2);
        else if (*text == '"' || *text == '\\') snprintf(one, sizeof one, "\\%c", *text);
        else memcpy(one, text, size);
        put(w, one);
        text += size ? size : 1;
    }
}

/* ---- families and their samples */
static const char *kind_name(const writer *w, kind k) {
    static const char *const names[] = {"gauge", "counter", "summary", "info"};
    return k == INFO && !w->open_metrics ? names[GAUGE] : names[k];
}
static const char *ending(kind k) { return k == COUNTER ? "_total" : k == INFO ? "_info" : ""; }

/* In OpenMetrics a family is named without the ending of its samples, in the older format with it. */
static void put_head(writer *w, const row *r, const char *help) {
    const char *const heads[] = {"TYPE", "UNIT", "HELP"};
    const char *const texts[] = {kind_name(w, r->kind), w->open_metrics ? r->unit : "", help};
    if (w->headed && strcmp(w->headed, r->name) == 0) return;
    w->headed = r->name;
    for (int i = 0; i < 3; i++) {
        if (!texts[i][0]) continue;
        put(w, "# ");
        put(w, heads[i]);
        put(w, " ");
        put(w, r->name);
        if (!w->open_metrics) put(w, ending(r->kind));
        put(w, " ");
        put_escaped(w, texts[i]);
        put(w, "\n");
    }
}

static void begin_line(writer *w, const row *r, const char *help) {
    put_head(w, r, help);
    put(w, r->name);
    put(w, ending(r->kind));
    w->labels = 0;
}

/* An empty label is the same as none. */
static void put_label(writer *w, const char *name, const char *value) {
    if (!value || !value[0]) return;
    put(w, w->labels++ ? "," : "{");
    put(w, name);
    put(w, "=\"");
    put_escaped(w, value);
    put(w, "\"");
}

static void end_line(writer *w, double value) {
    char number[EG_NUMBER_SIZE];
    eg_number_format(number, value);
    put(w, w->labels ? "} " : " ");
    put(w, number);
    put(w, "\n");
}

/* ---- what a sample has. Two publishers of a process, or two sensors, may have the same names: those after the first have a
 * number, because a series may stand there once only. */
static void put_number(writer *w, unsigned number) {
    char text[16] = "";
    if (number) snprintf(text, sizeof text, "%u", number + 1);
    put_label(w, "number", text);
}

static void put_reading(writer *w, const eg_reading *r, unsigned number) {
    const row *of = &sensors[r->sensor];
    begin_line(w, of, eg_sensor_text(r->sensor));
    put_label(w, of->label, r->label);
    put_number(w, number);
    put_label(w, "provenance", eg_provenance_name(r->metric.provenance));
    end_line(w, r->metric.value * of->factor);
}

static bool known(const eg_metric *m) {
    return m->provenance != EG_UNAVAILABLE && isfinite(m->value);
}

static void put_readings(writer *w, const eg_monitor_sample *s) {
    for (int sensor = 0; sensor < EG_SENSOR_COUNT; sensor++)
        for (size_t i = 0; i < s->reading_count; i++) {
            const eg_reading *r = &s->readings[i];
            unsigned number = 0;
            if ((int)r->sensor != sensor || !known(&r->metric)) continue;
            for (size_t k = 0; k < i; k++)
                number += s->readings[k].sensor == r->sensor && known(&s->readings[k].metric) &&
                          strcmp(s->readings[k].label, r->label) == 0;
            put_reading(w, r, number);
        }
}

static void begin_program(writer *w, const row *r, const char *help, const eg_monitor_sample *s,
                          size_t index) {
    const eg_published *p = &s->published[index];
    char pid[24];
    unsigned number = 0;
    for (size_t k = 0; k < index; k++) number += s->published[k].pid == p->pid;
    snprintf(pid, sizeof pid, "%llu", (unsigned long long)p->pid);
    begin_line(w, r, help);
    put_label(w, "pid", pid);
    put_label(w, "program", p->program);
    put_label(w, "activity", p->activity);
    put_label(w, "model", p->model);
    put_number(w, number);
}

static void put_figures(writer *w, const eg_monitor_sample *s) {
    for (int figure = 0; figure < EG_FIGURE_COUNT; figure++)
        for (size_t i = 0; i < s->published_count; i++) {
            const row *r = &figures[figure];
            const eg_metric *m = &s->published[i].figures[figure];
            if (!known(m)) continue;
            begin_program(w, r,
                          r->kind == SUMMARY ? "time of the steps since the sample before"
                                             : eg_figure_text((eg_figure)figure),
                          s, i);
            put_label(w, "quantile", r->label);
            put_label(w, "provenance", eg_provenance_name(m->provenance));
            end_line(w, m->value * r->factor);
        }
}

static void put_operations(writer *w, const eg_monitor_sample *s) {
    for (size_t i = 0; i < s->published_count; i++)
        for (size_t k = 0; k < s->published[i].operation_count; k++) {
            const eg_operation_share *o = &s->published[i].operations[k];
            bool again = !isfinite(o->share);
            for (size_t j = 0; j < k && !again; j++)
                again = strcmp(s->published[i].operations[j].name, o->name) == 0;
            if (again) continue;
            begin_program(w, &operations, "share of the time that an operation took", s, i);
            put_label(w, "operation", o->name);
            end_line(w, o->share);
        }
}

eg_status eg__metrics_write(eg__memory *memory, const eg_monitor_sample *s, eg_metrics_form form,
                            char **text, size_t *length, eg_error *error) {
    writer w = {.memory = memory, .open_metrics = form == EG_METRICS_OPEN};
    begin_line(&w, &version, "the library that made this");
    put_label(&w, "version", eg_version());
    end_line(&w, 1);
    begin_line(&w, &sample_time, "when the figures below were read, since 1970");
    end_line(&w, (double)s->time_ns * 1e-9);
    put_readings(&w, s);
    for (size_t i = 0; i < s->published_count; i++) {
        begin_program(&w, &start_time, "when a program began to publish, since 1970", s, i);
        end_line(&w, (double)s->published[i].started_ns * 1e-9);
    }
    put_figures(&w, s);
    put_operations(&w, s);
    if (w.open_metrics) put(&w, "# EOF\n");
    *text = w.text;
    *length = w.length;
    if (!w.failed) return EG_OK;
    eg__memory_give(memory, w.text);
    *text = NULL;
    return eg__fail(error, EG_ERR_MEMORY, "no memory for metrics of more than %zu bytes", w.length);
}
