/* Bars, and graphs whose cells are eight dots of braille: two values wide, four steps high. */
#include "cli/view/grid.h"

#include <math.h>

enum { BRAILLE = 0x2800, HEAVY = 0x2501, HALF = 0x2578, LIGHT = 0x2500 };

grid_style grid_height_style(double share) {
    return share < 0.6 ? GRID_LOW : share < 0.85 ? GRID_MIDDLE : GRID_HIGH;
}

void grid_bar(grid *g, int row, int column, int width, double share, grid_style style) {
    const int halves = share > 0 ? (int)lround(fmin(share, 1) * 2 * width) : 0;
    for (int i = 0; i < width; i++) {
        const bool whole = 2 * i + 1 < halves, half = 2 * i + 1 == halves;
        grid_put(g, row, column + i,
                 whole  ? HEAVY
                 : half ? HALF
                        : LIGHT,
                 whole || half ? style : GRID_DIM);
    }
}

/* Dots are numbered from the lower left. */
static void set_dot(grid *g, grid_area a, int x, int y, grid_style style) {
    static const unsigned char bit[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    const int row = a.top + a.rows - 1 - y / 4, column = a.left + x / 2;
    if (x < 0 || y < 0 || x >= 2 * a.columns || y >= 4 * a.rows || row < 0 || row >= g->rows ||
        column >= g->columns)
        return;
    grid_cell *cell = &g->cells[row][column];
    if (cell->code < BRAILLE || cell->code > BRAILLE + 0xff) cell->code = BRAILLE;
    cell->code |= bit[x & 1][y & 3];
    cell->style = style;
}

/* 0..1, NaN for what is not known; a range without extent is its own middle. */
static double place(double value, double least, double most) {
    if (!isfinite(value)) return NAN;
    if (!(most > least)) return 0.5;
    return fmin(fmax((value - least) / (most - least), 0), 1);
}

void grid_graph(grid *g, grid_area a, const double *values, int count, double least, double most,
                grid_style style) {
    const int dots = 4 * a.rows, columns = 2 * a.columns;
    if (a.rows <= 0) return;
    for (int i = 0; i < count && i < columns; i++) {
        const double share = place(values[count - 1 - i], least, most);
        if (isnan(share)) continue;
        const int height = (int)lround(share * dots);
        for (int y = 0; y < height || y == 0; y++) {
            const double level = (y / 4 + 0.5) / a.rows;
            set_dot(g, a, columns - 1 - i, y,
                    style == GRID_LOW ? grid_height_style(a.rows > 1 ? level : share) : style);
        }
    }
}

/* The value at one column of dots: the mean of those that fall into it or, where there are fewer values than columns,
 * a point on the line between two. */
static double value_at(const double *values, int count, int x, int columns) {
    const double from = (double)x * (count - 1) / (columns - 1);
    if (count <= columns) {
        const int i = (int)from;
        const double rest = from - i;
        return i + 1 < count && rest > 0 ? values[i] * (1 - rest) + values[i + 1] * rest
                                         : values[i];
    }
    double sum = 0;
    int known = 0;
    const int first = x * count / columns, end = (x + 1) * count / columns;
    for (int i = first; i < end || i == first; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            known++;
        }
    return known ? sum / known : NAN;
}

void grid_curve(grid *g, grid_area a, const double *values, int count, double least, double most,
                grid_style style) {
    const int columns = 2 * a.columns;
    int before = -1;
    if (count < 1 || columns < 2 || a.rows <= 0) return;
    for (int x = 0; x < columns; x++) {
        const double share = place(value_at(values, count, x, columns), least, most);
        if (isnan(share)) {
            before = -1;
            continue;
        }
        const int y = (int)lround(share * (4 * a.rows - 1));
        const int from = before < 0 ? y : before < y ? before + 1 : before > y ? before - 1 : y;
        for (int k = from < y ? from : y; k <= (from < y ? y : from); k++)
            set_dot(g, a, x, k, style);
        before = y;
    }
}
