/* The whole screen: a line of pages, the page, a line of keys. */
#include "cli/view/view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const page_names[VIEW_PAGES] = {"overview", "program", "sensors"};

static int clamp(int value, int least, int most) {
    return value < least ? least : value > most ? most : value;
}

static void draw_top(view *v, grid *g) {
    int at = 1 + grid_text(g, 0, 1, 10, GRID_TITLE, "elegans") + 2;
    for (int i = 0; i < VIEW_PAGES; i++) {
        v->tab_at[i] = at;
        at += grid_print(g, 0, at, 20, i == (int)v->page ? GRID_CHOSEN : GRID_DIM, " %s ",
                         page_names[i]);
    }
    v->tab_at[VIEW_PAGES] = at;
    char text[96] = "";
    if (v->sample) {
        const time_t seconds = (time_t)(v->sample->time_ns / 1000000000);
        struct tm when;
        char clock[32] = "";
        if (localtime_r(&seconds, &when)) strftime(clock, sizeof clock, "%H:%M:%S", &when);
        snprintf(text, sizeof text, "%s  %severy %g s", clock,
                 v->ended    ? "recording ended  "
                 : v->paused ? "paused  "
                             : "",
                 v->interval);
    }
    grid_right(g, 0, at, g->columns - at - 1, v->paused || v->ended ? GRID_ALERT : GRID_PLAIN,
               text);
}

static void draw_bottom(const view *v, grid *g) {
    static const struct {
        const char *key, *what;
    } keys[] = {{"q", "quit"}, {"tab", "page"}, {"↑↓", "choose"},   {"enter", "open"},
                {"s", "sort"}, {"p", "pause"},  {"+-", "interval"}, {"?", "help"}};
    const int row = g->rows - 1;
    int at = 1;
    if (v->note[0]) {
        grid_text(g, row, at, g->columns - 2, GRID_ALERT, v->note);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (at + grid_width(keys[i].key) + 1 + grid_width(keys[i].what) >= g->columns) break;
        at += grid_text(g, row, at, 8, GRID_BOLD, keys[i].key) + 1;
        at += grid_text(g, row, at, 12, GRID_DIM, keys[i].what) + 2;
    }
}

/* The machine above, in boxes; the programs below and, where there is room, one of them beside. */
static void draw_overview(view *v, grid *g, grid_area a) {
    const bool wide = a.columns >= 110;
    const int cpu = clamp(a.rows * 32 / 100, 7, 20), middle = clamp(a.rows * 25 / 100, 6, 15);
    const int third = a.columns / (wide ? 3 : 2), below = a.top + cpu + middle;
    view_cpu(v, g, (grid_area){a.top, a.left, cpu, a.columns});
    view_memory(v, g, (grid_area){a.top + cpu, a.left, middle, third});
    if (wide) {
        view_power(v, g, (grid_area){a.top + cpu, a.left + third, middle, third}, false);
        view_heat(v, g,
                  (grid_area){a.top + cpu, a.left + 2 * third, middle, a.columns - 2 * third});
    } else
        view_power(v, g, (grid_area){a.top + cpu, a.left + third, middle, a.columns - third}, true);
    const int rest = a.rows - cpu - middle;
    const bool beside = wide && rest >= 12 && v->sample && v->sample->published_count;
    const int list = beside ? clamp(a.columns * 55 / 100, 60, 110) : a.columns;
    view_programs(v, g, (grid_area){below, a.left, rest, list});
    if (beside) view_program_side(v, g, (grid_area){below, a.left + list, rest, a.columns - list});
}

static void draw_page(view *v, grid *g, grid_area page) {
    if (v->page == VIEW_OVERVIEW) draw_overview(v, g, page);
    else if (v->page == VIEW_PROGRAM) view_program(v, g, page);
    else view_sensors(v, g, page);
}

void view_draw(view *v, grid *g, int rows, int columns) {
    grid_clear(g, rows, columns);
    memset(v->program_at, 0, sizeof v->program_at);
    if (g->rows < VIEW_LEAST_ROWS || g->columns < VIEW_LEAST_COLUMNS) {
        grid_print(g, 0, 0, g->columns, GRID_PLAIN, "%d x %d is too small:", g->columns, g->rows);
        grid_print(g, 1, 0, g->columns, GRID_PLAIN, "%d x %d, please (q quits)", VIEW_LEAST_COLUMNS,
                   VIEW_LEAST_ROWS);
    } else {
        const grid_area page = {1, 0, g->rows - 2, g->columns};
        v->page_beyond = 0;
        draw_page(v, g, page);
        if (v->scroll > v->page_beyond) { /* the page became shorter, or the screen higher */
            v->scroll = v->page_beyond;
            grid_clear(g, rows, columns);
            draw_page(v, g, page);
        }
        draw_top(v, g);
        draw_bottom(v, g);
        if (v->help) view_help(g, page);
    }
    if (v->ascii) grid_to_ascii(g);
}
