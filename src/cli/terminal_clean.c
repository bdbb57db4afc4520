/* Cleans what goes to a terminal, byte by byte, so that no name can move its cursor, set its title or turn text round. */
#include "cli/terminal.h"

#include <stdint.h>
#include <string.h>

static size_t escape(char *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[byte >> 4];
    out[3] = digits[byte & 15];
    return 4;
}

static size_t escape_held(terminal *t, char *out) {
    size_t used = 0;
    for (unsigned i = 0; i < t->count; i++) used += escape(out + used, t->held[i]);
    t->count = t->missing = 0;
    return used;
}

/* Code points that are shown as bytes. What is encoded in more bytes than it needs ends up in the first row, too. */
static bool is_shown(uint32_t code, unsigned count) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0, 0x9f},      /* control characters, those of ISO 6429 included */
        {0x61c, 0x61c}, /* those that turn the direction of text: a name would read as another */
        {0x200e, 0x200f}, {0x202a, 0x202e},
        {0x2066, 0x2069}, {0xd800, 0xdfff}, /* no characters */
        {0xfdd0, 0xfdef}, {0x110000, UINT32_MAX}};
    if (code < least[count]) return true;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

static uint32_t code_of(const unsigned char *held, unsigned count) {
    uint32_t code = held[0] & (0x7fu >> count);
    for (unsigned i = 1; i < count; i++) code = code << 6 | (held[i] & 0x3f);
    return code;
}

/* A complete sequence: text, something to show, or what may begin a style, which stays held. */
static size_t take_held(terminal *t, char *out) {
    const unsigned count = t->count;
    const uint32_t code = code_of(t->held, count);
    if (code >= TERMINAL_FIRST && code < TERMINAL_FIRST + TERMINAL_STYLES) {
        t->matched = 0;
        t->styling = true;
        return 0;
    }
    if (is_shown(code, count)) return escape_held(t, out);
    t->count = 0;
    memcpy(out, t->held, count);
    return count;
}

/* Checks the next byte of the key after a style character, which foreign text cannot know. False:
 * not the key. */
static bool take_key(terminal *t, unsigned char byte, char *out, size_t *used) {
    static const char *const styles[TERMINAL_STYLES] = {"\033[0m", "\033[1m", "\033[2m"};
    if (t->key && byte == (unsigned char)t->key[t->matched]) {
        if (++t->matched < TERMINAL_KEY) return true;
        memcpy(out + *used, styles[code_of(t->held, t->count) - TERMINAL_FIRST], 4);
        *used += 4;
        t->count = 0;
        t->styling = false;
        return true;
    }
    *used += escape_held(t, out + *used);
    if (t->matched) memcpy(out + *used, t->key, t->matched);
    *used += t->matched;
    t->styling = false;
    return false;
}

size_t terminal_clean(terminal *t, const char *bytes, size_t size, char *out) {
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        if (t->styling && take_key(t, byte, out, &used)) continue;
        if (t->missing && (byte & 0xc0) == 0x80) {
            t->held[t->count++] = byte;
            if (--t->missing == 0) used += take_held(t, out + used);
            continue;
        }
        if (t->count) used += escape_held(t, out + used); /* it was none */
        if (byte >= 0xc2 && byte <= 0xf4) {
            t->held[t->count++] = byte;
            t->missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        } else if (byte == '\n' || byte == '\t' || (byte == '\r' && t->returns) ||
                   (byte >= ' ' && byte < 0x7f))
            out[used++] = (char)byte;
        else used += escape(out + used, byte);
    }
    return used;
}
