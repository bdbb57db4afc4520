/* A sample as a line of JSON. */
#include "base/base.h"
#include "monitor/monitor.h"

#include <math.h>

static void put_number(eg__json *json, const char *key, double value) {
    if (isfinite(value)) eg__json_put_number(json, key, value);
    else eg__json_put_null(json, key);
}

static void put_metric(eg__json *json, const eg_metric *m) {
    const bool known = m->provenance != EG_UNAVAILABLE;
    eg__json_open_object(json, "metric");
    if (known) put_number(json, "value", m->value);
    else eg__json_put_null(json, "value");
    if (m->unit) eg__json_put_text(json, "unit", m->unit);
    else eg__json_put_null(json, "unit");
    eg__json_put_text(json, "provenance", eg_provenance_name(m->provenance));
    eg__json_put_shown(json, known ? "source" : "reason", m->source ? m->source : "");
    eg__json_close(json);
}

static void put_losses(eg__json *json, const eg_published *p) {
    if (!p->loss_count) return;
    eg__json_open_list(json, "losses");
    for (size_t i = 0; i < p->loss_count; i++) {
        eg__json_open_list(json, NULL);
        eg__json_put_count(json, NULL, p->losses[i].step & INT64_MAX);
        put_number(json, NULL, p->losses[i].loss);
        put_number(json, NULL, p->losses[i].validation);
        eg__json_close(json);
    }
    eg__json_close(json);
}

static void put_operations(eg__json *json, const eg_published *p) {
    if (!p->operation_count) return;
    eg__json_open_list(json, "operations");
    for (size_t i = 0; i < p->operation_count; i++) {
        eg__json_open_object(json, NULL);
        eg__json_put_shown(json, "name", p->operations[i].name);
        put_number(json, "share", p->operations[i].share);
        eg__json_close(json);
    }
    eg__json_close(json);
}

void eg__published_write(eg__json *json, const eg_published *p) {
    eg__json_put_count(json, "pid", p->pid);
    eg__json_put_shown(json, "program", p->program);
    eg__json_put_shown(json, "activity", p->activity);
    eg__json_put_shown(json, "model", p->model);
    eg__json_put_number(json, "started", (double)p->started_ns * 1e-9);
    eg__json_put_shown(json, "verdict", p->verdict);
    eg__json_open_list(json, "figures");
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        eg__json_open_object(json, NULL);
        eg__json_put_text(json, "figure", eg_figure_name((eg_figure)i));
        put_metric(json, &p->figures[i]);
        eg__json_close(json);
    }
    eg__json_close(json);
    put_losses(json, p);
    put_operations(json, p);
}

eg_status eg__sample_write(eg__memory *memory, const eg_monitor_sample *sample, char **text,
                           size_t *length, eg_error *error) {
    eg__json json;
    eg__json_begin(&json, memory);
    eg__json_open_object(&json, NULL);
    eg__json_put_number(&json, "time", (double)sample->time_ns * 1e-9);
    eg__json_put_number(&json, "elapsed", sample->elapsed);
    eg__json_open_list(&json, "readings");
    for (size_t i = 0; i < sample->reading_count; i++) {
        const eg_reading *r = &sample->readings[i];
        eg__json_open_object(&json, NULL);
        eg__json_put_text(&json, "sensor", eg_sensor_name(r->sensor));
        eg__json_put_shown(&json, "label", r->label);
        put_metric(&json, &r->metric);
        eg__json_close(&json);
    }
    eg__json_close(&json);
    eg__json_open_list(&json, "programs");
    for (size_t i = 0; i < sample->published_count; i++) {
        eg__json_open_object(&json, NULL);
        eg__published_write(&json, &sample->published[i]);
        eg__json_close(&json);
    }
    eg__json_close(&json);
    eg__json_put_count(&json, "ignored", sample->ignored);
    eg__json_put_shown(&json, "ignored_reason", sample->ignored_text ? sample->ignored_text : "");
    eg__json_close(&json);
    return eg__json_end(&json, text, length, error);
}
