/* The leveled log: formatted here, written by whoever owns the context. */
#include "base/base.h"

#include <stdio.h>

const char *eg_log_level_name(eg_log_level level) {
    switch (level) {
    case EG_LOG_ERROR: return "error";
    case EG_LOG_WARNING: return "warning";
    case EG_LOG_INFO: return "info";
    case EG_LOG_DEBUG: return "debug";
    }
    return "unknown";
}

void eg__log_write(const eg__log *log, eg_log_level level, const char *format, ...) {
    if (!log || !log->function || level > log->level) return;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log->function(log->user, level, message);
}
