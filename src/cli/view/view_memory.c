/* Memory in use and its history, swap, pressure, traffic. */
#include "cli/view/view.h"

#include <stdio.h>

/* What else is known, one beside the other; how many columns they take. */
static void draw_others(const view *v, grid *g, int row, grid_area in) {
    static const struct {
        eg_sensor sensor;
        const char *name;
    } others[] = {{EG_SENSOR_swap_used, "swap"},
                  {EG_SENSOR_memory_pressure, "tasks waited"},
                  {EG_SENSOR_memory_level, "pressure"},
                  {EG_SENSOR_memory_bandwidth, "traffic"}};
    int column = in.left;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const eg_reading *r = view_reading(v, others[i].sensor, NULL);
        view_text text;
        if (!r) continue;
        const int left = in.left + in.columns - column;
        view_metric(text, &r->metric);
        const int needs = grid_width(others[i].name) + 1 + grid_width(text);
        if (needs > left) break;
        column += grid_text(g, row, column, left, GRID_DIM, others[i].name) + 1;
        column += grid_text(g, row, column, left, GRID_PLAIN, text) + 2;
    }
}

void view_memory(const view *v, grid *g, grid_area a) {
    const eg_reading *used = view_reading(v, EG_SENSOR_memory_used, ""),
                     *total = view_reading(v, EG_SENSOR_memory_total, "");
    view_series s;
    view_text text, whole, span = "";
    const grid_area in = {a.top + 1, a.left + 2, a.rows - 2, a.columns - 4};
    const bool history = view_series_find(v, eg_sensor_name(EG_SENSOR_memory_used), "", 0, &s);
    if (history) view_span(span, &s, in.columns);
    grid_frame(g, a, "memory", in.rows > 2 && used ? span : "");
    if (!used) {
        view_lines l = {g, in, 0, 0};
        view_folded(&l, "used", 6, GRID_DIM, view_why(v, EG_SENSOR_memory_used));
        draw_others(v, g, view_line(&l), in);
        return;
    }
    const double share = total ? used->metric.value / total->metric.value : 0;
    char of[80];
    if (total)
        snprintf(of, sizeof of, "%s of %s", view_bytes(text, used->metric.value),
                 view_bytes(whole, total->metric.value));
    else snprintf(of, sizeof of, "%s", view_bytes(text, used->metric.value));
    const int width = grid_width(of), bar = in.columns - width - 7;
    grid_text(g, in.top, in.left, in.columns, GRID_DIM, "used");
    if (total && bar >= 3) grid_bar(g, in.top, in.left + 5, bar, share, grid_height_style(share));
    grid_right(g, in.top, in.left, in.columns, GRID_PLAIN, of);
    draw_others(v, g, in.top + 1, in);
    const grid_area graph = {in.top + 2, in.left, in.rows - 2, in.columns};
    if (history)
        grid_graph(g, graph, s.values, s.count, 0, total ? total->metric.value : s.most,
                   total ? GRID_LOW : GRID_CURVE);
}
