/* The same screen for a terminal that has no UTF-8: lines, bars and dots as characters of ASCII. */
#include "cli/view/grid.h"

static const struct {
    uint32_t code;
    char ascii;
} replaced[] = {{0x2500, '-'}, {0x2502, '|'}, {0x256d, '+'}, {0x256e, '+'}, {0x2570, '+'},
                {0x256f, '+'}, {0x2501, '='}, {0x2578, '='}, {0x2026, '~'}, {0xb0, ' '},
                {0xb7, '.'},   {0x2191, '^'}, {0x2193, 'v'}, {0x25b8, '>'}};

/* A column of a graph begins at the bottom: the more dots, the darker. A line is where its highest dot is. */
static char dots(uint32_t bits) {
    static const char levels[] = " .:-=+*%#";
    enum { BOTTOM = 0xc0, THIRD = 0x24, SECOND = 0x12, TOP = 0x09 };
    unsigned count = 0;
    if (bits && !(bits & BOTTOM)) return bits & TOP ? '\'' : bits & SECOND ? '-' : '.';
    for (uint32_t rest = bits; rest; rest &= rest - 1) count++;
    if (count <= 2 && !(bits & (THIRD | SECOND | TOP))) return '_';
    return levels[count];
}

/* The eighths of a block, from the lowest up. */
static char block(uint32_t eighths) { return "..:-=+*##"[eighths]; }

void grid_to_ascii(grid *g) {
    for (int r = 0; r < g->rows; r++)
        for (int c = 0; c < g->columns; c++) {
            uint32_t *code = &g->cells[r][c].code;
            char to = '?';
            if (*code < 0x80) continue;
            if (*code >= 0x2800 && *code <= 0x28ff) to = dots(*code - 0x2800);
            if (*code >= 0x2581 && *code <= 0x2588) to = block(*code - 0x2580);
            for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
                if (replaced[i].code == *code) to = replaced[i].ascii;
            *code = (unsigned char)to;
        }
}
