/* A screen as cells, without a terminal: text, frames, bars and graphs in braille. */
#ifndef EG__CLI_GRID_H
#define EG__CLI_GRID_H

#include "elegans/base.h"

#include <stdbool.h>
#include <stdint.h>

/* What a cell means; the terminal decides what that looks like. */
typedef enum grid_style {
    GRID_PLAIN,
    GRID_DIM,
    GRID_BOLD,
    GRID_FRAME,
    GRID_TITLE,
    GRID_LOW, /* of a graph or a bar, by height */
    GRID_MIDDLE,
    GRID_HIGH,
    GRID_CURVE, /* a graph that has no good or bad */
    GRID_ALERT,
    GRID_CHOSEN,
    GRID_STYLES
} grid_style;

enum { GRID_ROWS = 120, GRID_COLUMNS = 320 }; /* larger terminals stay empty beyond */
typedef struct grid_cell {
    uint32_t code; /* one Unicode character that takes one column */
    uint32_t style;
} grid_cell;
typedef struct grid {
    int rows, columns;
    grid_cell cells[GRID_ROWS][GRID_COLUMNS];
} grid;
typedef struct grid_area {
    int top, left, rows, columns;
} grid_area;

/* ---- grid.c: whatever lies outside is left out */
void grid_clear(grid *g, int rows, int columns);
void grid_put(grid *g, int row, int column, uint32_t code, grid_style style);
/* UTF-8 in at most `width` columns, cut with an ellipsis; how many it took. Control characters, those that turn the
 * direction of text and those that do not take one column become U+FFFD. */
int grid_text(grid *g, int row, int column, int width, grid_style style, const char *text);
int grid_print(grid *g, int row, int column, int width, grid_style style, const char *format, ...)
    EG_PRINTF(6, 7);
/* The same, ending at the last of the `width` columns. */
void grid_right(grid *g, int row, int column, int width, grid_style style, const char *text);
int grid_width(const char *text); /* columns that a text takes */
/* Words in lines of at most `width` columns; how many bytes the first line has, without the blanks after it. */
size_t grid_fold(const char *text, int width);
/* A frame with a title on its upper edge and a note at the right of it ("" = none); what is inside. */
grid_area grid_frame(grid *g, grid_area a, const char *title, const char *note);
void grid_style_set(grid *g, grid_area a, grid_style style);
/* Rows as UTF-8 without trailing blanks, each with a newline; bytes, without the 0 at the end. */
size_t grid_dump(const grid *g, char *out, size_t room);

/* ---- grid_graph.c */
/* A bar of 0..1 of the width. */
void grid_bar(grid *g, int row, int column, int width, double share, grid_style style);
grid_style grid_height_style(double share); /* low, middle, high */
/* Columns of dots from the bottom up to each value, the last one at the right edge; NaN leaves a gap, and a value that
 * is known has a dot at least. Two values per cell. GRID_LOW: the style goes by height. */
void grid_graph(grid *g, grid_area a, const double *values, int count, double least, double most,
                grid_style style);
/* A line through all values, over the whole width. */
void grid_curve(grid *g, grid_area a, const double *values, int count, double least, double most,
                grid_style style);

/* ---- grid_ascii.c: for terminals without UTF-8 */
void grid_to_ascii(grid *g);

#endif
