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

eg_status eg__fail(eg_error *error, eg_status status, const char *format, ...) {
    if (!error) return status;
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (length < 0) error->message[0] = 0;
    if (length >= (int)sizeof error->message)
        memcpy(error->message + sizeof error->message - 4, "...", 4);
    return status;
}
