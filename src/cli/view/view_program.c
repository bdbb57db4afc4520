/* One program: all of its figures, why some are unknown, their history, where its time goes. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- graphs, one above the other */
static const struct {
    eg_figure figure;
    const char *name;
} graphs[] = {{EG_FIGURE_step_rate, "steps per second"},
              {EG_FIGURE_p99, "p99 of a step"},
              {EG_FIGURE_token_rate, "tokens per second"},
              {EG_FIGURE_resident, "memory of the process"}};

static bool draw_history(const view *v, grid *g, grid_area a, const eg_published *p,
                         eg_figure figure, const char *name) {
    view_series s;
    view_text now, span, most;
    char note[96];
    if (p->figures[figure].provenance == EG_UNAVAILABLE ||
        !view_series_find(v, eg_figure_name(figure), p->activity, p->pid, &s) || isnan(s.most))
        return false;
    snprintf(note, sizeof note, "most %s, %s", view_value(most, eg_figure_unit(figure), s.most),
             view_span(span, &s, a.columns));
    grid_text(g, a.top, a.left, a.columns, GRID_DIM, name);
    grid_text(g, a.top, a.left + grid_width(name) + 1, 16, GRID_BOLD,
              view_metric(now, &p->figures[figure]));
    const int used = grid_width(name) + grid_width(now) + 3;
    if (used + grid_width(note) <= a.columns)
        grid_right(g, a.top, a.left, a.columns, GRID_DIM, note);
    grid_graph(g, (grid_area){a.top + 1, a.left, a.rows - 1, a.columns}, s.values, s.count, 0,
               s.most, GRID_CURVE);
    return true;
}

/* As many of them as have room for a name, two rows and a gap; losses have twice as much. */
static void draw_graphs(const view *v, grid *g, grid_area a, const eg_published *p) {
    int parts = p->loss_count > 1 ? 2 : 0, at = a.top;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        parts += p->figures[graphs[i].figure].provenance != EG_UNAVAILABLE;
    while (parts > 1 && (a.rows + 1) / parts < 4) parts--;
    if (!parts || a.rows < 3) return;
    const int each = (a.rows + 1) / parts;
    if (p->loss_count > 1) {
        const int rows = parts > 1 ? 2 * each : each;
        grid_text(g, at, a.left, a.columns, GRID_DIM, "loss");
        if (p->figures[EG_FIGURE_validation_loss].provenance != EG_UNAVAILABLE)
            grid_text(g, at, a.left + 5, a.columns - 5, GRID_MIDDLE, "and validation loss");
        view_loss(p, g, (grid_area){at + 1, a.left, rows - 2, a.columns});
        at += rows;
    }
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        if (at + each - 1 <= a.top + a.rows &&
            draw_history(v, g, (grid_area){at, a.left, each - 1, a.columns}, p, graphs[i].figure,
                         graphs[i].name))
            at += each;
}

/* ---- figures as lines */
static void draw_known(view_lines *l, const eg_published *p) {
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        const eg_metric *m = &p->figures[i];
        view_text name, value;
        if (m->provenance == EG_UNAVAILABLE) continue;
        const int row = view_line(l), columns = l->area.columns;
        grid_text(l->g, row, l->area.left, 16, GRID_PLAIN,
                  view_spaced(name, eg_figure_name((eg_figure)i)));
        grid_right(l->g, row, l->area.left + 16, columns - 26, GRID_BOLD, view_metric(value, m));
        grid_right(l->g, row, l->area.left + columns - 9, 9, GRID_DIM,
                   eg_provenance_name(m->provenance));
    }
}

/* Figures that are unknown for the same reason, together. */
static void draw_unknown(view_lines *l, const eg_published *p) {
    bool told[EG_FIGURE_COUNT] = {0};
    for (int i = 0; i < EG_FIGURE_COUNT; i++) {
        const eg_metric *m = &p->figures[i];
        char text[480];
        int used = 0;
        if (m->provenance != EG_UNAVAILABLE || told[i]) continue;
        for (int k = i; k < EG_FIGURE_COUNT; k++) {
            const eg_metric *other = &p->figures[k];
            view_text name;
            if (other->provenance != EG_UNAVAILABLE || strcmp(other->source, m->source) != 0)
                continue;
            told[k] = true;
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", used ? ", " : "",
                             view_spaced(name, eg_figure_name((eg_figure)k)));
            if (used >= (int)sizeof text) used = sizeof text - 1;
        }
        snprintf(text + used, sizeof text - (size_t)used, ": %s", m->source);
        view_folded(l, "unknown", 9, GRID_DIM, text);
    }
}

static void draw_operations(view_lines *l, const eg_published *p) {
    for (size_t i = 0; i < p->operation_count; i++) {
        const eg_operation_share *o = &p->operations[i];
        const int row = view_line(l), bar = l->area.columns - 30;
        view_text share;
        if (i == 0) grid_text(l->g, row, l->area.left, 9, GRID_PLAIN, "time in");
        grid_text(l->g, row, l->area.left + 9, 13, GRID_BOLD, o->name);
        if (row >= 0 && bar > 2) grid_bar(l->g, row, l->area.left + 23, bar, o->share, GRID_CURVE);
        snprintf(share, sizeof share, "%.1f %%", 100 * o->share);
        grid_right(l->g, row, l->area.left, l->area.columns, GRID_PLAIN, share);
    }
}

/* What the list beside may have had no room for. */
static void draw_costs(view_lines *l, const eg_published *p) {
    static const eg_figure costs[] = {EG_FIGURE_flop_rate, EG_FIGURE_byte_rate, EG_FIGURE_resident};
    char text[128] = "";
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        const size_t used = strlen(text);
        view_text value;
        if (p->figures[costs[i]].provenance != EG_UNAVAILABLE)
            snprintf(text + used, sizeof text - used, "%s%s", used ? " · " : "",
                     view_metric(value, &p->figures[costs[i]]));
    }
    if (text[0]) view_folded(l, "", 0, GRID_DIM, text);
}

static void write_title(char *out, size_t room, const eg_published *p) {
    snprintf(out, room, "%s%s%s%s%s", p->program, p->activity[0] ? " " : "", p->activity,
             p->model[0] ? " " : "", p->model);
}

void view_program_side(const view *v, grid *g, grid_area a) {
    const eg_published *p = view_chosen(v);
    char title[256] = "program", pid[48] = "";
    if (p) {
        write_title(title, sizeof title, p);
        snprintf(pid, sizeof pid, "enter: more");
    }
    const grid_area in = grid_frame(g, a, title, pid);
    if (!p) return;
    view_lines l = {g, in, 0, 0};
    view_folded(&l, "", 0, GRID_PLAIN, p->verdict);
    draw_costs(&l, p);
    draw_operations(&l, p);
    view_line(&l);
    draw_graphs(v, g, (grid_area){in.top + l.row, in.left, in.rows - l.row, in.columns}, p);
}

void view_program(view *v, grid *g, grid_area a) {
    const eg_published *p = view_chosen(v);
    char title[256] = "program", pid[48] = "";
    if (p) {
        write_title(title, sizeof title, p);
        snprintf(pid, sizeof pid, "pid %llu", (unsigned long long)p->pid);
    }
    const grid_area in = grid_frame(g, a, title, pid);
    if (!p) {
        grid_text(g, in.top, in.left, in.columns, GRID_DIM, "No program publishes now.");
        v->page_beyond = 0;
        return;
    }
    const int left = in.columns * 45 / 100 < 40 ? 40 : in.columns * 45 / 100;
    view_lines l = {g, {in.top, in.left, in.rows, left}, v->scroll, 0};
    view_folded(&l, "", 0, GRID_BOLD, p->verdict);
    view_line(&l);
    draw_known(&l, p);
    draw_operations(&l, p);
    view_line(&l);
    draw_unknown(&l, p);
    v->page_rows = in.rows;
    v->page_beyond = l.row > in.rows ? l.row - in.rows : 0;
    view_lines_note(&l, a, v->scroll);
    draw_graphs(v, g, (grid_area){in.top, in.left + left + 3, in.rows, in.columns - left - 3}, p);
}
