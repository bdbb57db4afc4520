/* The history of a monitor as JSON: when points begin, then for every figure its least, mean and largest value there. */
#include "base/base.h"
#include "monitor/monitor.h"

#include <math.h>
#include <stddef.h>

static void put_points(eg__json *json, const eg__history *h, const eg__series *s, const char *key,
                       size_t offset) {
    eg__json_open_list(json, key);
    for (size_t i = 0; i < h->points; i++) {
        const float value = *(const float *)((const char *)&s->bins[i] + offset);
        if (s->bins[i].samples && isfinite(value)) eg__json_put_number(json, NULL, (double)value);
        else eg__json_put_null(json, NULL);
    }
    eg__json_close(json);
}

/* Where every point is one sample, the three are the same, and the mean says it all. */
static bool has_range(const eg__history *h, const eg__series *s) {
    for (size_t i = 0; i < h->points; i++)
        if (s->bins[i].samples > 1) return true;
    return false;
}

static void put_series(eg__json *json, const eg__history *h, const eg__series *s) {
    eg__json_open_object(json, NULL);
    eg__json_put_text(json, "name", s->name);
    if (s->unit) eg__json_put_text(json, "unit", s->unit);
    else eg__json_put_null(json, "unit");
    eg__json_put_shown(json, "label", s->label);
    eg__json_put_count(json, "pid", s->pid);
    put_points(json, h, s, "mean", offsetof(eg__series, bins[0].mean) - offsetof(eg__series, bins));
    if (has_range(h, s)) {
        put_points(json, h, s, "least",
                   offsetof(eg__series, bins[0].least) - offsetof(eg__series, bins));
        put_points(json, h, s, "most",
                   offsetof(eg__series, bins[0].most) - offsetof(eg__series, bins));
    }
    eg__json_close(json);
}

eg_status eg__history_write(eg__memory *memory, const eg__history *h, const eg__runs *runs,
                            char **text, size_t *length, eg_error *error) {
    eg__json json;
    eg__json_begin(&json, memory);
    eg__json_open_object(&json, NULL);
    eg__json_put_number(&json, "seconds", h->width);
    eg__json_open_list(&json, "times");
    for (size_t i = 0; i < h->points; i++) eg__json_put_number(&json, NULL, h->begins[i]);
    eg__json_close(&json);
    eg__json_open_list(&json, "series");
    json.digits = 6; /* they are floats */
    for (size_t i = 0; i < h->count; i++) put_series(&json, h, h->series[i]);
    json.digits = 0;
    eg__json_close(&json);
    eg__json_open_list(&json, "runs");
    for (size_t i = 0; i < runs->count; i++) {
        eg__json_open_object(&json, NULL);
        eg__published_write(&json, &runs->run[i]->last);
        eg__json_put_number(&json, "seen", runs->run[i]->seen);
        eg__json_close(&json);
    }
    eg__json_close(&json);
    eg__json_close(&json);
    return eg__json_end(&json, text, length, error);
}
