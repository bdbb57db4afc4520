/* Cells of a screen: text, frames, and the whole as lines. */
#include "cli/view/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { UNKNOWN = 0xfffd, ELLIPSIS = 0x2026 };

void grid_clear(grid *g, int rows, int columns) {
    g->rows = rows < 0 ? 0 : rows > GRID_ROWS ? GRID_ROWS : rows;
    g->columns = columns < 0 ? 0 : columns > GRID_COLUMNS ? GRID_COLUMNS : columns;
    for (int r = 0; r < g->rows; r++)
        for (int c = 0; c < g->columns; c++) g->cells[r][c] = (grid_cell){' ', GRID_PLAIN};
}

void grid_put(grid *g, int row, int column, uint32_t code, grid_style style) {
    if (row >= 0 && row < g->rows && column >= 0 && column < g->columns)
        g->cells[row][column] = (grid_cell){code, style};
}

/* ---- text */

/* Blocks of characters that are known to take one column; names of programs may hold anything. */
static bool is_narrow(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {{' ', '~'},       {0xa0, 0xac},     {0xae, 0x2ff},    {0x370, 0x482},
                  {0x48a, 0x52f},   {0x2010, 0x2027}, {0x2030, 0x205e}, {0x2190, 0x21ff},
                  {0x2200, 0x22ff}, {0x2500, 0x25fc}, {0x2800, 0x28ff}, {UNKNOWN, UNKNOWN}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

/* The character that begins there; *text moves behind it. A byte that begins none counts alone. */
static uint32_t next_code(const char **text) {
    const unsigned char *at = (const unsigned char *)*text;
    const unsigned more = at[0] < 0xc2   ? 0
                          : at[0] < 0xe0 ? 1
                          : at[0] < 0xf0 ? 2
                          : at[0] < 0xf5 ? 3
                                         : 0;
    uint32_t code = more ? at[0] & (0x3fu >> more) : at[0] < 0x80 ? at[0] : UNKNOWN;
    for (unsigned i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *text += 1;
            return UNKNOWN;
        }
        code = code << 6 | (at[i] & 0x3f);
    }
    *text += 1 + more;
    return is_narrow(code) ? code : UNKNOWN;
}

int grid_width(const char *text) {
    int columns = 0;
    while (*text) {
        next_code(&text);
        columns++;
    }
    return columns;
}

int grid_text(grid *g, int row, int column, int width, grid_style style, const char *text) {
    int used = 0;
    while (*text && used < width) {
        const uint32_t code = next_code(&text);
        grid_put(g, row, column + used, used == width - 1 && *text ? ELLIPSIS : code, style);
        used++;
    }
    return used;
}

int grid_print(grid *g, int row, int column, int width, grid_style style, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return grid_text(g, row, column, width, style, text);
}

void grid_right(grid *g, int row, int column, int width, grid_style style, const char *text) {
    const int gap = width - grid_width(text);
    grid_text(g, row, column + (gap > 0 ? gap : 0), gap > 0 ? width - gap : width, style, text);
}

size_t grid_fold(const char *text, int width) {
    const char *at = text;
    size_t word = 0;
    for (int used = 0; *at; used++) {
        if (used >= width && *at != ' ') return word ? word : (size_t)(at - text);
        if (*at == ' ' && at > text && at[-1] != ' ') word = (size_t)(at - text);
        if (used >= width) return word;
        next_code(&at);
    }
    return (size_t)(at - text);
}

/* ---- frames */
grid_area grid_frame(grid *g, grid_area a, const char *title, const char *note) {
    const int right = a.left + a.columns - 1, bottom = a.top + a.rows - 1;
    for (int c = a.left + 1; c < right; c++) {
        grid_put(g, a.top, c, 0x2500, GRID_FRAME);
        grid_put(g, bottom, c, 0x2500, GRID_FRAME);
    }
    for (int r = a.top + 1; r < bottom; r++) {
        grid_put(g, r, a.left, 0x2502, GRID_FRAME);
        grid_put(g, r, right, 0x2502, GRID_FRAME);
    }
    grid_put(g, a.top, a.left, 0x256d, GRID_FRAME);
    grid_put(g, a.top, right, 0x256e, GRID_FRAME);
    grid_put(g, bottom, a.left, 0x2570, GRID_FRAME);
    grid_put(g, bottom, right, 0x256f, GRID_FRAME);
    int used = 0;
    if (title[0]) {
        grid_put(g, a.top, a.left + 2, ' ', GRID_FRAME);
        used = grid_text(g, a.top, a.left + 3, a.columns - 6, GRID_TITLE, title) + 2;
        grid_put(g, a.top, a.left + 1 + used, ' ', GRID_FRAME);
    }
    const int width = grid_width(note);
    if (width && used + width + 7 < a.columns) {
        grid_put(g, a.top, right - 3 - width, ' ', GRID_FRAME);
        grid_text(g, a.top, right - 2 - width, width, GRID_DIM, note);
        grid_put(g, a.top, right - 2, ' ', GRID_FRAME);
    }
    return (grid_area){a.top + 1, a.left + 2, a.rows - 2, a.columns - 4};
}

void grid_style_set(grid *g, grid_area a, grid_style style) {
    for (int r = a.top; r < a.top + a.rows; r++)
        for (int c = a.left; c < a.left + a.columns; c++)
            if (r >= 0 && r < g->rows && c >= 0 && c < g->columns) g->cells[r][c].style = style;
}

/* ---- as lines */
static size_t encode(char out[4], uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

size_t grid_dump(const grid *g, char *out, size_t room) {
    size_t used = 0;
    for (int r = 0; r < g->rows; r++) {
        int last = g->columns;
        while (last && g->cells[r][last - 1].code == ' ') last--;
        for (int c = 0; c < last && used + 6 < room; c++)
            used += encode(out + used, g->cells[r][c].code);
        if (used + 1 < room) out[used++] = '\n';
    }
    if (room) out[used] = 0;
    return used;
}
