/* Power by rail, temperatures, battery, GPU and Neural Engine, as many as there is room for. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>

enum { ITEMS = 64, ITEM = 16 };

typedef struct item {
    char name[EG_READING_LABEL + 16];
    view_text value;
    double share; /* of a bar; NaN = none */
} item;
typedef struct items {
    item all[ITEMS];
    int count;
} items;

/* Without a name, by its label; `labelled`: by both. */
static item *add(items *list, const char *name, const eg_reading *r, bool labelled) {
    if (list->count == ITEMS) return NULL;
    item *i = &list->all[list->count++];
    labelled = labelled && r->label[0];
    snprintf(i->name, sizeof i->name, "%s%s%s", name, name[0] && labelled ? " " : "",
             labelled || !name[0] ? r->label : "");
    view_metric(i->value, &r->metric);
    i->share = NAN;
    return i;
}

/* All known readings of a sensor; `whole` is what fills a bar, 0 = none. */
static void add_all(const view *v, items *list, eg_sensor sensor, const char *name, double whole) {
    const eg_reading *first = view_reading(v, sensor, NULL);
    bool several = false;
    for (size_t i = 0; first && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        several |= r->sensor == sensor && r != first && r->metric.provenance != EG_UNAVAILABLE;
    }
    for (size_t i = 0; v->sample && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->sensor != sensor || r->metric.provenance == EG_UNAVAILABLE) continue;
        item *one = add(list, name, r, several);
        if (one && whole > 0) one->share = r->metric.value / whole;
    }
}

/* The hottest first: the others may have no room. */
static void add_temperatures(const view *v, items *list) {
    const int from = list->count;
    add_all(v, list, EG_SENSOR_temperature, "", 100);
    for (int i = from + 1; i < list->count; i++)
        for (int k = i; k > from && list->all[k].share > list->all[k - 1].share; k--) {
            const item hotter = list->all[k];
            list->all[k] = list->all[k - 1];
            list->all[k - 1] = hotter;
        }
}

static void add_states(const view *v, items *list) {
    static const char *const levels[] = {"nominal", "fair", "serious", "critical"};
    const eg_reading *level = view_reading(v, EG_SENSOR_thermal_level, NULL),
                     *mains = view_reading(v, EG_SENSOR_on_mains, NULL);
    if (level) {
        item *i = add(list, "heat", level, false);
        if (i && level->metric.value >= 0 && level->metric.value < 4)
            snprintf(i->value, sizeof i->value, "%s", levels[(int)level->metric.value]);
    }
    add_all(v, list, EG_SENSOR_throttling, "throttled", 0);
    add_all(v, list, EG_SENSOR_battery, "charge", 100);
    if (mains) {
        item *i = add(list, "fed by", mains, false);
        if (i)
            snprintf(i->value, sizeof i->value, "%s",
                     mains->metric.value > 0 ? "mains" : "battery");
    }
}

static void add_units(const view *v, items *list) {
    add_all(v, list, EG_SENSOR_gpu_load, "GPU load", 100);
    add_all(v, list, EG_SENSOR_gpu_clock, "GPU clock", 0);
    add_all(v, list, EG_SENSOR_gpu_memory, "GPU memory", 0);
    add_all(v, list, EG_SENSOR_ane_load, "ANE load", 100);
}

/* In columns, from the top; the last place tells how many have none. */
static void draw_items(grid *g, grid_area a, const items *list) {
    const int most = a.columns / (ITEM + 2) > 0 ? a.columns / (ITEM + 2) : 1;
    const int needed = a.rows > 0 ? (list->count + a.rows - 1) / a.rows : 1;
    const int across = needed < 1 ? 1 : needed < most ? needed : most;
    const int width = (a.columns - 2 * (across - 1)) / across, places = across * a.rows;
    for (int i = 0; i < list->count && i < places; i++) {
        const item *one = &list->all[i];
        const int row = a.top + i % a.rows, column = a.left + i / a.rows * (width + 2);
        const int value = grid_width(one->value), room = width - value - 1;
        if (i == places - 1 && list->count > places) {
            grid_print(g, row, column, width, GRID_DIM, "%d more: tab", list->count - i);
            break;
        }
        const int name = grid_text(g, row, column, room, GRID_DIM, one->name), bar = room - 15;
        if (!isnan(one->share) && bar >= 4 && name < 14)
            grid_bar(g, row, column + 14, bar, one->share, grid_height_style(one->share));
        grid_right(g, row, column, width, GRID_PLAIN, one->value);
    }
}

/* Where nothing is reported, the reason is. */
static void draw_missing(const view *v, grid *g, grid_area in, const eg_sensor *sensors,
                         int count) {
    view_lines l = {g, in, 0, 0};
    for (int i = 0; i < count; i++) {
        view_text name;
        if (view_reading(v, sensors[i], NULL)) continue;
        view_folded(&l, view_spaced(name, eg_sensor_name(sensors[i])), 12, GRID_DIM,
                    view_why(v, sensors[i]));
    }
}

void view_power(const view *v, grid *g, grid_area a, bool with_heat) {
    static const eg_sensor told[] = {EG_SENSOR_power, EG_SENSOR_temperature};
    const eg_reading *first = view_reading(v, EG_SENSOR_power, NULL);
    const grid_area in = {a.top + 1, a.left + 2, a.rows - 2, a.columns - 4};
    items list = {.count = 0};
    view_series s;
    view_text span;
    char note[96] = "";
    add_all(v, &list, EG_SENSOR_power, "", 0);
    if (with_heat) {
        add_temperatures(v, &list);
        add_states(v, &list);
    }
    add_units(v, &list);
    grid_area top = in;
    /* of the first rail there is a history, where rails have room above it */
    const bool history = first && in.rows > 5 &&
                         view_series_find(v, eg_sensor_name(EG_SENSOR_power), first->label, 0, &s);
    if (history) {
        const grid_area graph = {in.top + in.rows / 2, in.left, in.rows - in.rows / 2, in.columns};
        top.rows = in.rows / 2;
        grid_graph(g, graph, s.values, s.count, 0, s.most, GRID_CURVE);
        snprintf(note, sizeof note, "%s, %s", first->label, view_span(span, &s, in.columns));
    }
    grid_frame(g, a, with_heat ? "power and heat" : "power", note);
    if (list.count) draw_items(g, top, &list);
    else draw_missing(v, g, in, told, with_heat ? 2 : 1);
}

void view_heat(const view *v, grid *g, grid_area a) {
    static const eg_sensor told[] = {EG_SENSOR_temperature, EG_SENSOR_battery};
    const grid_area in = grid_frame(g, a, "heat and battery", "");
    items list = {.count = 0};
    add_temperatures(v, &list);
    add_states(v, &list);
    if (list.count) draw_items(g, in, &list);
    else draw_missing(v, g, in, told, 2);
}
