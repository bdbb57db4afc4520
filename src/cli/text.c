/* Text for terminals of 80 columns. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, NAME = 15 };

static bool coloured(void) {
    const char *off = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(off && off[0]) && !(term && strcmp(term, "dumb") == 0);
}

const char *style_bold(void) { return coloured() ? "\033[1m" : ""; }
const char *style_dim(void) { return coloured() ? "\033[2m" : ""; }
const char *style_end(void) { return coloured() ? "\033[0m" : ""; }

/* Columns that a UTF-8 text takes: continuation bytes take none. */
static int columns_of(const char *text) {
    int columns = 0;
    for (; *text; text++) columns += (*text & 0xc0) != 0x80;
    return columns;
}

static void print_right(int used, const char *note) {
    int gap = WIDTH - used - columns_of(note);
    if (!note[0]) putchar('\n');
    else if (gap >= 1) printf("%*s%s%s%s\n", gap, "", style_dim(), note, style_end());
    else printf("\n%*s%s%s%s\n", NAME + 2, "", style_dim(), note, style_end());
}

void print_title(const char *left, const char *right) {
    printf("%s%s%s", style_bold(), left, style_end());
    print_right(columns_of(left), right);
}

void print_section(const char *name, const char *note) {
    printf("\n%s%s%s", style_bold(), name, style_end());
    print_right(columns_of(name), note);
}

void print_row(const char *name, const char *value, const char *note) {
    const int gap = NAME - columns_of(name); /* printf would count bytes */
    printf("  %s%*s%s", name, gap > 0 ? gap : 0, "", value);
    print_right(2 + (columns_of(name) > NAME ? columns_of(name) : NAME) + columns_of(value), note);
}

void print_wrapped(const char *text) {
    while (*text) {
        size_t length = strlen(text), most = WIDTH - 2;
        if (length > most) {
            while (most && text[most] != ' ') most--;
            length = most ? most : WIDTH - 2;
        }
        printf("  %.*s\n", (int)length, text);
        text += length;
        while (*text == ' ') text++;
    }
}

const char *format_bytes(char out[32], uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++) value /= 1024;
    snprintf(out, 32, value == (double)(uint64_t)value ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *format_short(char out[32], double value) {
    double size = value < 0 ? -value : value;
    snprintf(out, 32, "%.*f", size < 10 ? 2 : size < 1000 ? 1 : 0, value);
    return out;
}

const char *format_seconds(char out[32], double seconds) {
    char number[32];
    double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    const char *unit = scale == 1e9 ? "ns" : scale == 1e6 ? "us" : scale == 1e3 ? "ms" : "s";
    snprintf(out, 32, "%.20s %s", format_short(number, seconds * scale), unit);
    return out;
}

const char *format_metric(char out[96], const eg_metric *metric) {
    char number[32];
    if (metric->provenance == EG_UNAVAILABLE)
        snprintf(out, 96, "unavailable: %s", metric->source ? metric->source : "not told");
    else
        snprintf(out, 96, "%s %s", format_short(number, metric->value),
                 metric->unit ? metric->unit : "");
    return out;
}
