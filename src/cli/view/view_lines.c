/* Lines of a page that is longer than the screen. */
#include "cli/view/view.h"

#include <stdio.h>

int view_line(view_lines *l) {
    const int at = l->row++ - l->skip;
    return at >= 0 && at < l->area.rows ? l->area.top + at : -1;
}

void view_folded(view_lines *l, const char *name, int column, grid_style style, const char *text) {
    const int width = l->area.columns - column;
    for (bool begins = true; begins || *text; begins = false) {
        const size_t bytes = grid_fold(text, width);
        const int row = view_line(l);
        if (begins) grid_text(l->g, row, l->area.left, column, GRID_PLAIN, name);
        grid_print(l->g, row, l->area.left + column, width, style, "%.*s", (int)bytes, text);
        for (text += bytes; *text == ' ';) text++;
        if (!bytes) break;
    }
}

void view_lines_note(const view_lines *l, grid_area frame, int scroll) {
    const int last = scroll + l->area.rows < l->row ? scroll + l->area.rows : l->row;
    if (l->row > l->area.rows)
        grid_print(l->g, frame.top + frame.rows - 1, frame.left + 3, 40, GRID_DIM,
                   " lines %d to %d of %d ", scroll + 1, last, l->row);
}
