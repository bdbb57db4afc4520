/* Lines, words and numbers out of whatever a system or a recorded file says. */
#include "chip/detect.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

eg__text eg__text_of_bytes(const void *bytes, size_t length) {
    return (eg__text){.descriptor = -1, .bytes = bytes, .length = length};
}

int eg__text_byte(eg__text *text) {
    if (text->at == text->length && text->descriptor >= 0) {
        ssize_t got;
        do {
            got = read(text->descriptor, text->buffer, sizeof text->buffer);
        } while (got < 0 && errno == EINTR);
        text->bytes = text->buffer;
        text->at = 0;
        text->length = got > 0 ? (size_t)got : 0;
    }
    return text->at < text->length ? text->bytes[text->at++] : -1;
}

bool eg__line_read(eg__text *text, char *line, size_t size) {
    size_t length = 0;
    int c = eg__text_byte(text);
    if (c < 0) return false;
    for (; c >= 0 && c != '\n'; c = eg__text_byte(text))
        if (length + 1 < size) line[length++] = c >= ' ' && c != 127 ? (char)c : ' ';
    line[length] = 0;
    return true;
}

static char *trim(char *text) {
    while (*text == ' ') text++;
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ') text[--length] = 0;
    return text;
}

bool eg__line_split(char *line, char **key, char **value) {
    char *colon = strchr(line, ':');
    if (!colon) return false;
    *colon = 0;
    *key = trim(line);
    *value = trim(colon + 1);
    return true;
}

void eg__text_clean(char *out, size_t size, const char *text, size_t length) {
    size_t at = 0;
    bool gap = false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == 127) {
            gap = at > 0;
            continue;
        }
        if (at + gap + 1 >= size) break;
        if (gap) out[at++] = ' ';
        gap = false;
        out[at++] = c < 127 ? (char)c : '?';
    }
    out[at] = 0;
}

static bool hex_number(const char *digits, uint64_t *out) {
    uint64_t value = 0;
    size_t i = 0;
    for (; digits[i]; i++) {
        char c = digits[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0 || value >> 59) return false;
        value = value * 16 + (unsigned)digit;
    }
    if (i) *out = value;
    return i > 0;
}

bool eg__text_number(const char *text, uint64_t *out) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return hex_number(text + 2, out);
    int64_t value;
    if (text[0] == '+' || eg_integer_parse(text, strlen(text), 0, INT64_MAX, &value, NULL))
        return false;
    *out = (uint64_t)value;
    return true;
}

bool eg__text_equal(const char *a, const char *b) {
    for (;; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y) return false;
        if (!x) return true;
    }
}

uint64_t eg__plausible(const eg__log *log, const char *what, const char *text, uint64_t low,
                       uint64_t high) {
    uint64_t value;
    if (!text[0]) return 0;
    if (eg__text_number(text, &value) && value >= low && value <= high) return value;
    eg__log_write(log, EG_LOG_WARNING, "chip: '%s' is no plausible %s, taken as not told", text,
                  what);
    return 0;
}

uint64_t eg__plausible_number(const eg__log *log, const char *what, uint64_t number, uint64_t low,
                              uint64_t high) {
    if (number == 0 || (number >= low && number <= high)) return number;
    eg__log_write(log, EG_LOG_WARNING, "chip: '%llu' is no plausible %s, taken as not told",
                  (unsigned long long)number, what);
    return 0;
}
