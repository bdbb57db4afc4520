/* Every reading of the machine with its provenance and source; what is not reported, and why. */
#include "cli/view/view.h"

static void draw_reading(view_lines *l, const eg_reading *r, bool again) {
    view_text name, value;
    const int row = view_line(l), left = l->area.left, room = l->area.columns - 62;
    if (!again)
        grid_text(l->g, row, left, 17, GRID_PLAIN, view_spaced(name, eg_sensor_name(r->sensor)));
    grid_text(l->g, row, left + 18, 17, GRID_DIM, r->label);
    grid_right(l->g, row, left + 36, 12, GRID_BOLD, view_metric(value, &r->metric));
    grid_text(l->g, row, left + 50, 10, GRID_DIM, eg_provenance_name(r->metric.provenance));
    if (room > 8) grid_text(l->g, row, left + 62, room, GRID_DIM, r->source);
}

void view_sensors(view *v, grid *g, grid_area a) {
    const grid_area in = grid_frame(g, a, "sensors of this machine", "");
    view_lines l = {g, in, v->scroll, 0};
    for (size_t i = 0; v->sample && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        if (r->metric.provenance != EG_UNAVAILABLE)
            draw_reading(&l, r, i && r[-1].sensor == r->sensor);
    }
    bool any = false;
    for (size_t i = 0; v->sample && i < v->sample->reading_count; i++) {
        const eg_reading *r = &v->sample->readings[i];
        view_text name;
        if (r->metric.provenance != EG_UNAVAILABLE) continue;
        if (!any) {
            if (l.row) view_line(&l);
            grid_text(g, view_line(&l), in.left, in.columns, GRID_TITLE, "not reported here");
        }
        any = true;
        view_folded(&l, view_spaced(name, eg_sensor_name(r->sensor)), 18, GRID_DIM, r->source);
    }
    if (v->sample && v->sample->ignored) {
        view_line(&l);
        view_folded(&l, "ignored pages", 18, GRID_DIM, v->sample->ignored_text);
    }
    v->page_rows = in.rows;
    v->page_beyond = l.row > in.rows ? l.row - in.rows : 0;
    view_lines_note(&l, a, v->scroll);
}
