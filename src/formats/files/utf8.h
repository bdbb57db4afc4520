/* UTF-8 as the formats demand it: no overlong forms, no surrogates. */
#ifndef EG__UTF8_H
#define EG__UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 sequence at `at` has; 0 = none. Text ends with a zero byte. */
static inline size_t eg__utf8_length(const unsigned char *at) {
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (at[0] < 0x80) return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t code = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code >= lowest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

static inline bool eg__utf8_valid(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = eg__utf8_length(at);
        if (!length) return false;
        at += length;
    }
    return true;
}

/* The same of `size` bytes that nothing ends. */
static inline bool eg__utf8_bytes(const char *text, size_t size) {
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    while (at < end) {
        const unsigned char last[4] = {at[0], end - at > 1 ? at[1] : 0, end - at > 2 ? at[2] : 0,
                                       end - at > 3 ? at[3] : 0};
        const size_t length = eg__utf8_length(last);
        if (!length) return false;
        at += length;
    }
    return true;
}

/* The bytes of a character, at most 0x10ffff; returns how many. */
static inline size_t eg__utf8_write(uint32_t code, char out[4]) {
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(heads[size] | code);
    return size;
}

#endif
