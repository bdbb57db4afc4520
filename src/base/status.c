/* Names and texts of the status codes, and the one way to report a failure. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

#define STRING(x)        #x
#define EXPAND_STRING(x) STRING(x)

const char *eg_version(void) {
    return EXPAND_STRING(EG_VERSION_MAJOR) "." EXPAND_STRING(EG_VERSION_MINOR) "." EXPAND_STRING(
        EG_VERSION_PATCH);
}

const char *eg_status_name(eg_status status) {
    switch (status) {
#define NAME(name, value, text) \
    case name: return #name;
        EG_STATUS_MAP(NAME)
#undef NAME
    }
    return "EG_ERR_UNKNOWN";
}

const char *eg_status_text(eg_status status) {
    switch (status) {
#define TEXT(name, value, text) \
    case name: return text;
        EG_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "unknown status";
}

const char *eg_provenance_name(eg_provenance provenance) {
    switch (provenance) {
#define NAME(name, text) \
    case name: return text;
        EG_PROVENANCE_MAP(NAME)
#undef NAME
    }
    return "unknown";
}

/* Whether a terminal or a log would obey a byte: control characters of ASCII, and those that UTF-8 writes as c2 80
 * to c2 9f. */
static bool is_control(const unsigned char *text, size_t at) {
    const unsigned char byte = text[at];
    const bool first = byte == 0xc2 && text[at + 1] >= 0x80 && text[at + 1] < 0xa0;
    const bool second = at && text[at - 1] == 0xc2 && byte >= 0x80 && byte < 0xa0;
    return byte < ' ' || byte == 0x7f || first || second;
}

/* Control characters from names, files and users are shown (\x1b), not executed. False:
 * truncated. */
static bool copy_shown(char *out, size_t room, const char *from) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *text = (const unsigned char *)from;
    size_t used = 0;
    for (size_t at = 0; text[at]; at++) {
        const char shown[] = {'\\', 'x', digits[text[at] >> 4], digits[text[at] & 15]};
        const bool control = is_control(text, at);
        const size_t size = control ? sizeof shown : 1;
        out[used] = 0;
        if (used + size >= room) return false;
        memcpy(out + used, control ? shown : from + at, size);
        used += size;
    }
    out[used] = 0;
    return true;
}

eg_status eg__fail(eg_error *error, eg_status status, const char *format, ...) {
    if (!error) return status;
    char text[sizeof error->message];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) text[0] = 0;
    error->status = status;
    const bool whole = copy_shown(error->message, sizeof error->message, text);
    /* a truncated message is nearly full: one character takes at most four bytes */
    if (length >= (int)sizeof text || !whole)
        memcpy(error->message + sizeof error->message - 4, "...", 4);
    return status;
}
