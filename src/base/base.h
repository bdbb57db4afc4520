/* What the library's own files use of src/base. */
#ifndef EG__BASE_H
#define EG__BASE_H

#include "elegans/base.h"

#include <stdarg.h>
#include <stdbool.h>

/* Fills `error` (which may be NULL) and returns `status`, so that a failing call is one line. */
eg_status eg__fail(eg_error *error, eg_status status, const char *format, ...) EG_PRINTF(3, 4);

/* a*b and a+b into *out; false when they do not fit. Sizes are checked before they are used. */
static inline bool eg__size_mul(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool eg__size_add(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

static inline size_t eg__min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t eg__max(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t eg__ceil_div(size_t a, size_t b) { return (a + b - 1) / b; }
static inline size_t eg__round_up(size_t a, size_t b) { return eg__ceil_div(a, b) * b; }

/* ---- log: a value that is handed down, so that low layers need no context */
typedef struct eg__log {
    eg_log_function function; /* NULL = silent */
    void *user;
    eg_log_level level; /* messages above it are dropped before they are formatted */
} eg__log;

void eg__log_write(const eg__log *log, eg_log_level level, const char *format, ...) EG_PRINTF(3, 4);

/* ---- numbers */

/* Exactly `digits` (at most EG__FIXED_DIGITS) after the point, whatever the locale; never "-0.00". */
enum { EG__FIXED_DIGITS = 17, EG__FIXED_SIZE = 352 };
size_t eg__number_fixed(char out[EG__FIXED_SIZE], double value, unsigned digits);
/* The point of the locale in a number that printf wrote becomes ".". */
void eg__number_dot(char *text);

/* ---- metrics in one line */
static inline eg_metric eg__metric(double value, const char *unit, eg_provenance provenance,
                                   const char *source) {
    eg_metric metric = {value, provenance, unit, source};
    return metric;
}
static inline eg_metric eg__metric_unavailable(const char *unit, const char *why) {
    return eg__metric(0, unit, EG_UNAVAILABLE, why);
}

/* A hash of bytes (FNV-1a): against mistakes, not attackers. Start with the seed, continue with the
 * previous result. */
#define EG__HASH_SEED UINT64_C(0xcbf29ce484222325)
static inline uint64_t eg__hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
