/* Figures over the last hour, in memory that does not grow: points of equal width, which doubles until they reach over the
 * hour; then the oldest half goes. */
#include "monitor/monitor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HOUR = 3600, POINTS = EG_HISTORY_POINTS };
/* Two points in three reach over the hour, so that one is left when the oldest third has gone. */
enum { GONE = POINTS / 3 };

static void drop_series(eg__history *h, size_t index) {
    eg__memory_give(h->memory, h->series[index]);
    h->count--;
    for (size_t i = index; i < h->count; i++) h->series[i] = h->series[i + 1];
}

/* Of programs that ended more than an hour ago nothing is left. */
static void drop_empty(eg__history *h) {
    for (size_t i = h->count; i-- > 0;) {
        bool any = false;
        for (size_t k = 0; k < h->points && !any; k++) any = h->series[i]->bins[k].samples > 0;
        if (!any) drop_series(h, i);
    }
}

static void merge_neighbours(eg__history *h) {
    const size_t half = h->points / 2;
    for (size_t s = 0; s < h->count; s++) {
        eg__series *series = h->series[s];
        for (size_t i = 0; i < half; i++) {
            const uint32_t a = series->bins[2 * i].samples, b = series->bins[2 * i + 1].samples;
            series->bins[i] = series->bins[a ? 2 * i : 2 * i + 1];
            if (!a || !b) continue;
            const float least = series->bins[2 * i + 1].least, most = series->bins[2 * i + 1].most;
            const double mean =
                ((double)series->bins[i].mean * a + (double)series->bins[2 * i + 1].mean * b) /
                ((double)a + b);
            series->bins[i].least = fminf(series->bins[i].least, least);
            series->bins[i].most = fmaxf(series->bins[i].most, most);
            series->bins[i].mean = (float)mean;
            series->bins[i].samples = a + b;
        }
        memset(series->bins + half, 0, sizeof series->bins - half * sizeof *series->bins);
    }
    for (size_t i = 0; i < half; i++) h->begins[i] = h->begins[2 * i];
    h->points = half;
    h->width *= 2;
}

static void drop_oldest(eg__history *h) {
    h->points -= GONE;
    memmove(h->begins, h->begins + GONE, h->points * sizeof *h->begins);
    for (size_t s = 0; s < h->count; s++) {
        eg__series *series = h->series[s];
        memmove(series->bins, series->bins + GONE, h->points * sizeof *series->bins);
        memset(series->bins + h->points, 0, GONE * sizeof *series->bins);
    }
    drop_empty(h);
}

/* The point that a sample of this time belongs to. A clock that was set back continues the last one. */
static size_t point_of(eg__history *h, double time, double elapsed) {
    if (!h->points) h->width = elapsed > 0 && elapsed < HOUR ? elapsed : 1;
    if (h->points && time < h->begins[h->points - 1] + h->width * 0.99) return h->points - 1;
    if (h->points == POINTS && h->width * (POINTS - GONE) < HOUR) merge_neighbours(h);
    else if (h->points == POINTS) drop_oldest(h);
    h->begins[h->points] = time;
    return h->points++;
}

static eg__series *series_of(eg__history *h, const char *name, const char *unit, const char *label,
                             uint64_t pid) {
    for (size_t i = 0; i < h->count; i++)
        if (h->series[i]->name == name && h->series[i]->pid == pid &&
            strcmp(h->series[i]->label, label) == 0)
            return h->series[i];
    eg__series *s = h->count < EG_HISTORY_SERIES
                        ? eg__memory_take_zeroed(h->memory, EG_TAG_MEASURE, sizeof *s, NULL)
                        : NULL;
    h->short_of_memory |= !s && h->count < EG_HISTORY_SERIES;
    if (!s) return NULL;
    s->name = name;
    s->unit = unit;
    s->pid = pid;
    snprintf(s->label, sizeof s->label, "%s", label);
    return h->series[h->count++] = s;
}

static void add(eg__history *h, size_t point, const char *name, const char *label, uint64_t pid,
                const eg_metric *m) {
    if (m->provenance == EG_UNAVAILABLE) return;
    eg__series *s = series_of(h, name, m->unit, label, pid);
    if (!s) return;
    const float value = (float)m->value;
    const uint32_t samples = s->bins[point].samples++;
    s->bins[point].least = samples ? fminf(s->bins[point].least, value) : value;
    s->bins[point].most = samples ? fmaxf(s->bins[point].most, value) : value;
    s->bins[point].mean += (value - s->bins[point].mean) / (float)(samples + 1);
}

eg_status eg__history_add(eg__history *h, const eg_monitor_sample *sample, eg_error *error) {
    h->short_of_memory = false;
    const size_t point = point_of(h, (double)sample->time_ns * 1e-9, sample->elapsed);
    for (size_t i = 0; i < sample->reading_count; i++) {
        const eg_reading *r = &sample->readings[i];
        add(h, point, eg_sensor_name(r->sensor), r->label, 0, &r->metric);
    }
    for (size_t i = 0; i < sample->published_count; i++)
        for (int k = 0; k < EG_FIGURE_COUNT; k++)
            add(h, point, eg_figure_name((eg_figure)k), sample->published[i].activity,
                sample->published[i].pid, &sample->published[i].figures[k]);
    return h->short_of_memory ? eg__fail(error, EG_ERR_MEMORY,
                                         "no memory for the history of %zu figures", h->count)
                              : EG_OK;
}

void eg__history_close(eg__history *h) {
    while (h->count) drop_series(h, h->count - 1);
}
