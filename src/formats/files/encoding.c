/* Text of other encodings as UTF-8. */
#include "formats/files/encoding.h"
#include "formats/files/utf8.h"

#include <string.h>

/* 0x80 .. 0x9f of Windows; what it does not use stays what it is in latin1. */
static const uint16_t windows[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

static const struct {
    const char *name;
    const uint16_t *high; /* codes of 0x80 .. 0x9f; NULL = as they are */
    bool utf8;
} encodings[] = {{"utf-8", NULL, true},
                 {"utf8", NULL, true},
                 {"latin1", NULL, false},
                 {"iso-8859-1", NULL, false},
                 {"windows-1252", windows, false},
                 {"cp1252", windows, false}};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

eg_status eg__encoding_find(const char *name, int *out, eg_error *error) {
    *out = 0;
    if (!name) return EG_OK;
    for (int i = 0; i < ENCODINGS; i++)
        if (strcmp(encodings[i].name, name) == 0) return *out = i, EG_OK;
    return eg__fail(
        error, EG_ERR_UNSUPPORTED,
        "encoding '%.40s' is not utf-8, latin1 or windows-1252; iconv -t UTF-8 converts "
        "others",
        name);
}

bool eg__encoding_is_utf8(int encoding) { return encodings[encoding].utf8; }

eg_status eg__encoding_convert(eg__memory *memory, int encoding, const void *bytes, size_t length,
                               char **out, size_t *out_length, eg_error *error) {
    const unsigned char *from = bytes;
    const uint16_t *high = encodings[encoding].high;
    size_t size;
    void *block;
    if (!eg__size_mul(length, 3, &size))
        return eg__fail(error, EG_ERR_OVERFLOW, "a text of %zu bytes does not fit", length);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, size, &block, error);
    if (status) return status;
    char *to = *out = block;
    for (size_t i = 0; i < length; i++) {
        const bool changed = high && from[i] >= 0x80 && from[i] < 0xa0;
        to += eg__utf8_write(changed ? high[from[i] - 0x80] : from[i], to);
    }
    *out_length = (size_t)(to - *out);
    return EG_OK;
}
