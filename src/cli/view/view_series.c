/* What the library remembers of a figure, as the values of a graph; and readings of the last sample. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool view_series_find(const view *v, const char *name, const char *label, uint64_t pid,
                      view_series *out) {
    *out = (view_series){.most = NAN};
    eg_series_info info = {.size = sizeof info};
    for (size_t i = 0; v->monitor && eg_monitor_series(v->monitor, i, &info, NULL) == EG_OK; i++) {
        if (strcmp(info.name, name) != 0 || strcmp(info.label, label) != 0 || info.pid != pid)
            continue;
        const size_t skip = info.count > VIEW_POINTS ? info.count - VIEW_POINTS : 0;
        out->seconds = info.seconds;
        for (size_t k = skip; k < info.count; k++) {
            const eg_history_point *p = &info.points[k];
            const double value = p->samples ? (double)p->mean : (double)NAN;
            out->begins[out->count] = p->time;
            out->values[out->count++] = value;
            if (p->samples && !(value <= out->most)) out->most = value;
        }
        return out->count > 0;
    }
    return false;
}

const char *view_span(view_text out, const view_series *s, int columns) {
    const int points = s->count < 2 * columns ? s->count : 2 * columns;
    const double seconds =
        points ? s->begins[s->count - 1] + s->seconds - s->begins[s->count - points] : 0;
    if (seconds < 9.5) snprintf(out, VIEW_TEXT, "last %.2g s", seconds);
    else if (seconds < 119.5) snprintf(out, VIEW_TEXT, "last %.0f s", seconds);
    else snprintf(out, VIEW_TEXT, "last %.0f min", seconds / 60);
    return out;
}

static const eg_reading *first(const view *v, eg_sensor sensor, const char *label, bool known) {
    for (size_t i = 0; v->sample && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->sensor == sensor && (r->metric.provenance != EG_UNAVAILABLE) == known &&
            (!label || strcmp(r->label, label) == 0))
            return r;
    }
    return NULL;
}

const eg_reading *view_reading(const view *v, eg_sensor sensor, const char *label) {
    return first(v, sensor, label, true);
}

const char *view_why(const view *v, eg_sensor sensor) {
    const eg_reading *r = first(v, sensor, NULL, false);
    return r ? r->source : v->sample ? "no source reports it" : "no sample yet";
}
