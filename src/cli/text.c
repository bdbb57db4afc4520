/* Text for terminals of 80 columns. */
#include "cli/cli.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 15 };

static bool coloured(void) {
    const char *off = getenv("NO_COLOR"), *term = getenv("TERM");
    return terminal_guarded() && !(off && off[0]) && !(term && strcmp(term, "dumb") == 0);
}

const char *style_bold(void) { return coloured() ? terminal_mark(TERMINAL_BOLD) : ""; }
const char *style_dim(void) { return coloured() ? terminal_mark(TERMINAL_DIM) : ""; }
const char *style_end(void) { return coloured() ? terminal_mark(TERMINAL_PLAIN) : ""; }

/* Continuation bytes take none. */
int text_columns(const char *text) {
    int columns = 0;
    for (; *text; text++) columns += (*text & 0xc0) != 0x80;
    return columns;
}

static void print_right(int used, const char *note) {
    int gap = TEXT_WIDTH - used - text_columns(note);
    if (!note[0]) putchar('\n');
    else if (gap >= 1) printf("%*s%s%s%s\n", gap, "", style_dim(), note, style_end());
    else printf("\n%*s%s%s%s\n", NAME + 2, "", style_dim(), note, style_end());
}

void print_title(const char *left, const char *right) {
    printf("%s%s%s", style_bold(), left, style_end());
    print_right(text_columns(left), right);
}

void print_section(const char *name, const char *note) {
    printf("\n%s%s%s", style_bold(), name, style_end());
    print_right(text_columns(name), note);
}

/* Bytes of the text that fit into `room` columns, cut before a word where there is one; of a command, better
 * before an option, which keeps its value. */
static size_t fitting(const char *text, size_t length, int room, bool is_command) {
    size_t bytes = 0, word = 0, flag = 0;
    for (int columns = 0; bytes < length; bytes++) {
        columns += (text[bytes] & 0xc0) != 0x80;
        if (bytes && text[bytes] == ' ' && text[bytes - 1] != ' ' && columns <= room + 1) {
            word = bytes;
            if (is_command && bytes + 1 < length &&
                (text[bytes + 1] == '[' || text[bytes + 1] == '-'))
                flag = bytes;
        }
        if (columns > room) return flag ? flag : word ? word : bytes;
    }
    return bytes;
}

void print_padded(const char *text, int columns) {
    const int gap = columns - text_columns(text);
    size_t bytes = 0;
    for (int used = 0; text[bytes]; bytes++)
        if ((text[bytes] & 0xc0) != 0x80 && used++ == columns) break;
    printf("%.*s%*s", (int)bytes, text, gap > 0 ? gap : 0, "");
}

void print_row(const char *name, const char *value, const char *note) {
    const int gap = NAME - text_columns(name); /* printf would count bytes */
    size_t length = strlen(value);
    printf("  %s%*s", name, gap > 0 ? gap : 0, "");
    if (gap <= 0 && length)
        printf("\n%*s", NAME + 2, ""); /* a name as long as that has its own line */
    while (NAME + 2 + text_columns(value) > TEXT_WIDTH) {
        const size_t line = fitting(value, length, TEXT_WIDTH - NAME - 2, false);
        if (line == length) break;
        printf("%.*s\n%*s", (int)line, value, NAME + 2, "");
        for (value += line, length -= line; *value == ' '; length--) value++;
    }
    fputs(value, stdout);
    print_right(NAME + 2 + text_columns(value), note);
}

void print_folded(const char *text, size_t length, int used, int indent, const char *end) {
    const int after = end ? text_columns(end) : 0;
    for (bool first = true; length; first = false) {
        const int room = TEXT_WIDTH - (first ? used : indent);
        size_t bytes = fitting(text, length, room, end), rest;
        if (bytes < length) bytes = fitting(text, length, room - after, end);
        for (rest = bytes; rest < length && text[rest] == ' ';) rest++;
        printf("%*s%.*s%s\n", first ? 0 : indent, "", (int)bytes, text,
               rest < length && end ? end : "");
        text += rest;
        length -= rest;
    }
}

void print_wrapped(const char *text) {
    fputs("  ", stdout);
    print_folded(text, strlen(text), 2, 2, NULL);
}

const char *format_bytes(char out[32], uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++) value /= 1024;
    snprintf(out, 32, value == (double)(uint64_t)value ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *format_count(char out[48], uint64_t count, const char *word) {
    snprintf(out, 48, "%llu %.20s%s", (unsigned long long)count, word, count == 1 ? "" : "s");
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

const char *format_shape(char out[128], unsigned rank, const uint64_t *shape) {
    int at = snprintf(out, 128, "[");
    for (unsigned i = 0; i < rank; i++)
        at += snprintf(out + at, (size_t)(128 - at), "%s%llu", i ? "," : "",
                       (unsigned long long)shape[i]);
    snprintf(out + at, (size_t)(128 - at), "]");
    return out;
}

const char *format_block(double height) {
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    return blocks[height > 0 ? (int)(height * 7.99) : 0]; /* also for NaN */
}

const char *format_joules(char out[32], double joules) {
    static const char *const units[] = {"J", "mJ", "uJ", "nJ"};
    char number[32];
    int unit = 0;
    for (; unit < 3 && joules < 1; unit++) joules *= 1e3;
    snprintf(out, 32, "%.20s %s", format_short(number, joules), units[unit]);
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

void print_figure(const char *name, const eg_metric *metric) {
    char text[96];
    const bool known = metric->provenance != EG_UNAVAILABLE; /* else the text says so */
    print_row(name, format_metric(text, metric),
              known ? eg_provenance_name(metric->provenance) : "");
}
