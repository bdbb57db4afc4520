/* Characters of text that need not be UTF-8, and the letters that GPT-2 writes for bytes. */
#include "formats/files/utf8.h"
#include "text/text.h"

#include <string.h>

size_t eg__character(const char *text, size_t length, uint32_t *code, bool *valid) {
    const unsigned char first = (unsigned char)text[0];
    *code = first;
    *valid = true;
    if (first < 0x80) return 1;
    unsigned char window[5] = {0}; /* zero-terminated, as the check needs it */
    memcpy(window, text, eg__min(length, 4));
    const size_t size = eg__utf8_length(window);
    *valid = size != 0;
    *code = EG__REPLACEMENT;
    if (!size) return 1;
    *code = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) *code = *code << 6 | (window[i] & 0x3fu);
    return size;
}

/* Printable bytes stand for themselves, the others for letters from 256 on, in their order. */
static int byte_of(uint32_t code) {
    if ((code >= 33 && code <= 126) || (code >= 161 && code <= 255 && code != 173))
        return (int)code;
    if (code < 256 || code > 256 + 67) return -1;
    const int rank = (int)code - 256;
    return rank < 33 ? rank : rank < 67 ? 127 + rank - 33 : 173;
}

bool eg__byte_letters(const char *text, size_t length, char *out, size_t *out_length) {
    *out_length = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        bool valid;
        at += eg__character(text + at, length - at, &code, &valid);
        const int byte = valid ? byte_of(code) : -1;
        if (byte < 0) return false;
        out[(*out_length)++] = (char)byte;
    }
    return true;
}
