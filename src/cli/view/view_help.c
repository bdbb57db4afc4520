/* The keys, in the middle of the screen. */
#include "cli/view/view.h"

static const struct {
    const char *keys, *what;
} rows[] = {{"q, Ctrl-C", "leave"},
            {"tab, shift-tab, 1 2 3", "overview, program, sensors"},
            {"up, down, j, k", "choose a program; on other pages, scroll"},
            {"page up, page down", "the same, by pages; home, end"},
            {"enter, esc", "the chosen program in detail; back"},
            {"s", "sort: pid, steps/s, p99, FLOP/s, memory"},
            {"+, -", "more or less time between samples"},
            {"p, space", "pause; nothing is sampled meanwhile"},
            {"mouse", "click a program or a page; scroll"},
            {"", ""},
            {"-", "not known: the page of the program or of"},
            {"", "the sensors says why"}};
enum { ROWS = sizeof rows / sizeof *rows, WIDTH = 68 };

void view_help(grid *g, grid_area a) {
    const int width = a.columns < WIDTH ? a.columns : WIDTH, height = ROWS + 2;
    const grid_area box = {a.top + (a.rows - height) / 2, a.left + (a.columns - width) / 2, height,
                           width};
    for (int r = box.top; r < box.top + height; r++)
        for (int c = box.left; c < box.left + width; c++) grid_put(g, r, c, ' ', GRID_PLAIN);
    const grid_area in = grid_frame(g, box, "help", "any key closes it");
    for (int i = 0; i < ROWS; i++) {
        grid_text(g, in.top + i, in.left, 22, GRID_BOLD, rows[i].keys);
        grid_text(g, in.top + i, in.left + 23, in.columns - 23, GRID_PLAIN, rows[i].what);
    }
}
