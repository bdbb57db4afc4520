/* Load of the machine over time, of its kinds of cores and of each core. */
#include "cli/view/view.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 8, CELL = 23 };

/* Labels of cores end in their number ("cpu3", "PCPU0"); those of kinds do not. */
static bool is_core(const char *label) {
    const size_t length = strlen(label);
    return length && isdigit((unsigned char)label[length - 1]);
}

typedef struct loads {
    const eg_reading *all; /* of the whole machine; NULL = not reported */
    const eg_reading *kinds[KINDS];
    int kind_count, core_count;
} loads;

static loads loads_of(const view *v) {
    loads l = {0};
    for (size_t i = 0; v->sample && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->sensor != EG_SENSOR_cpu_load || r->metric.provenance == EG_UNAVAILABLE) continue;
        if (!r->label[0]) l.all = r;
        else if (is_core(r->label)) l.core_count++;
        else if (l.kind_count < KINDS) l.kinds[l.kind_count++] = r;
    }
    return l;
}

/* ---- a line for a core or a kind: label, bar, load, clock */
static void draw_load(const view *v, grid *g, int row, int column, int width, const eg_reading *r) {
    const eg_reading *clock = view_reading(v, EG_SENSOR_cpu_clock, r->label);
    const int name = is_core(r->label) ? 6 : 12, bar = width - name - 11;
    const double share = r->metric.value / 100;
    view_text text;
    grid_text(g, row, column, name - 1, is_core(r->label) ? GRID_PLAIN : GRID_BOLD, r->label);
    if (bar >= 3) grid_bar(g, row, column + name, bar, share, grid_height_style(share));
    grid_print(g, row, column + width - 11, 5, GRID_PLAIN, "%4.0f%%", r->metric.value);
    if (clock) {
        snprintf(text, sizeof text, "%.2fG", clock->metric.value * 1e-9);
        grid_right(g, row, column + width - 6, 6, GRID_DIM, text);
    } else grid_right(g, row, column + width - 6, 6, GRID_DIM, "-");
}

static void draw_cores(const view *v, const loads *l, grid *g, grid_area a, int across) {
    const int width = (a.columns - (across - 1)) / across;
    int at = 0;
    for (int k = 0; k < l->kind_count; k++, at++)
        draw_load(v, g, a.top + at % a.rows, a.left + at / a.rows * (width + 1), width,
                  l->kinds[k]);
    for (size_t i = 0; i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->sensor != EG_SENSOR_cpu_load || r->metric.provenance == EG_UNAVAILABLE ||
            !is_core(r->label))
            continue;
        draw_load(v, g, a.top + at % a.rows, a.left + at / a.rows * (width + 1), width, r);
        at++;
    }
}

/* Where lines have no room, each core is one character, as high as its load. */
static void draw_strip(const view *v, const loads *l, grid *g, grid_area a) {
    int row = a.top, at = 0;
    for (int k = 0; k < l->kind_count && row < a.top + a.rows - 1; k++)
        draw_load(v, g, row++, a.left, a.columns, l->kinds[k]);
    grid_print(g, row++, a.left, a.columns, GRID_DIM, "%d cores", l->core_count);
    for (size_t i = 0; i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->sensor != EG_SENSOR_cpu_load || r->metric.provenance == EG_UNAVAILABLE ||
            !is_core(r->label))
            continue;
        const double share = fmin(fmax(r->metric.value / 100, 0), 1);
        if (row + at / a.columns < a.top + a.rows)
            grid_put(g, row + at / a.columns, a.left + at % a.columns,
                     0x2581 + (uint32_t)lround(share * 7), grid_height_style(share));
        at++;
    }
}

/* ---- history: of the machine or, where that is not reported, of each kind of cores */
static void draw_history(const view *v, const loads *l, grid *g, grid_area a, view_text span) {
    const int count = l->all ? 1 : l->kind_count < a.rows ? l->kind_count : a.rows;
    for (int i = 0; i < count; i++) {
        view_series s;
        const eg_reading *r = l->all ? l->all : l->kinds[i];
        const int top = a.rows * i / count, end = a.rows * (i + 1) / count;
        const grid_area part = {a.top + top, a.left, end - top, a.columns};
        if (!view_series_find(v, eg_sensor_name(EG_SENSOR_cpu_load), r->label, 0, &s)) continue;
        grid_graph(g, part, s.values, s.count, 0, 100, GRID_LOW);
        if (!l->all) grid_text(g, part.top, part.left, a.columns, GRID_DIM, r->label);
        view_span(span, &s, a.columns);
    }
}

static void write_note(const view *v, char *out, size_t room, const char *span) {
    const eg_reading *steal = view_reading(v, EG_SENSOR_cpu_steal, ""),
                     *pressure = view_reading(v, EG_SENSOR_cpu_pressure, "");
    int used = 0;
    out[0] = 0;
    if (pressure) used += snprintf(out, room, "tasks waited %.0f %% · ", pressure->metric.value);
    if (steal && steal->metric.value >= 0.5)
        used += snprintf(out + used, room - (size_t)used, "stolen %.0f %% · ", steal->metric.value);
    snprintf(out + used, room - (size_t)used, "%s", span);
}

void view_cpu(const view *v, grid *g, grid_area a) {
    const loads l = loads_of(v);
    char title[80] = "cpu", note[160];
    view_text span = "";
    const grid_area in = {a.top + 1, a.left + 2, a.rows - 2, a.columns - 4};
    if (!l.all && !l.kind_count && !l.core_count) {
        grid_frame(g, a, title, "");
        grid_text(g, in.top, in.left, in.columns, GRID_DIM, view_why(v, EG_SENSOR_cpu_load));
        return;
    }
    const int lines = l.core_count + l.kind_count;
    int across = (lines + in.rows - 1) / in.rows;
    const bool strip = across * CELL > in.columns * 2 / 3;
    int side = strip ? in.columns / 3 : across * (CELL + 1) - 1;
    /* wider bars where there is room */
    if (!strip && side < in.columns / 3) side = in.columns / 3;
    if (across < 1) side = 0;
    const grid_area graph = {in.top, in.left, in.rows, in.columns - side - 2};
    draw_history(v, &l, g, graph, span);
    write_note(v, note, sizeof note, span);
    if (l.all) snprintf(title, sizeof title, "cpu %.1f %%", l.all->metric.value);
    grid_frame(g, a, title, note);
    const grid_area panel = {in.top, in.left + in.columns - side, in.rows, side};
    if (strip) draw_strip(v, &l, g, panel);
    else if (across) draw_cores(v, &l, g, panel, across);
}
