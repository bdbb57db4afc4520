/* Status codes, error text, log, clock, numbers and provenance: what every other part speaks.
 * Stable. */
#ifndef ELEGANS_BASE_H
#define ELEGANS_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EG_API                __attribute__((visibility("default")))
#define EG_PRINTF(text, from) __attribute__((format(printf, text, from)))
#else
#define EG_API
#define EG_PRINTF(text, from)
#endif

#define EG_VERSION_MAJOR 0
#define EG_VERSION_MINOR 1
#define EG_VERSION_PATCH 0

/* The version of the library that runs, "0.1.0"; compare with the macros to see what it was built
 * against. A static string. */
EG_API const char *eg_version(void);

/* ---- status ---------------------------------------------------------------------------------
 * Every call that can fail returns a status: EG_OK (zero) or a negative code. The numbers are
 * frozen; new ones go at the end. */
#define EG_STATUS_MAP(X)                                 \
    X(EG_OK, 0, "ok")                                    \
    X(EG_ERR_ARGUMENT, -1, "argument out of range")      \
    X(EG_ERR_MEMORY, -2, "out of memory")                \
    X(EG_ERR_BUDGET, -3, "over the memory budget")       \
    X(EG_ERR_UNSUPPORTED, -4, "not supported here")      \
    X(EG_ERR_NOT_FOUND, -5, "not found")                 \
    X(EG_ERR_FILE, -6, "file cannot be read or written") \
    X(EG_ERR_FORMAT, -7, "malformed data")               \
    X(EG_ERR_OVERFLOW, -8, "size overflow")              \
    X(EG_ERR_SYSTEM, -9, "the system refused")           \
    X(EG_ERR_BUSY, -10, "in use")                        \
    X(EG_ERR_STOPPED, -11, "stopped")

typedef enum eg_status {
#define EG_STATUS_ENUM(name, value, text) name = value,
    EG_STATUS_MAP(EG_STATUS_ENUM)
#undef EG_STATUS_ENUM
} eg_status;

EG_API const char *eg_status_name(eg_status status); /* "EG_ERR_FILE"; static */
EG_API const char *eg_status_text(eg_status status); /* "file cannot be ..."; static */

/* The caller owns it and may pass NULL where only the status matters. A call that succeeds leaves
 * it untouched; one that fails fills it: lower case, the fault first, the value in quotes. */
typedef struct eg_error {
    eg_status status;
    char message[256]; /* always terminated; cut with "..." when longer */
} eg_error;

/* For programs that have a thread pool already: calls member(argument, t) once for every t < threads, on as many threads at
 * once as it has, and returns 1 when all calls have returned; or calls none and returns 0, and the context's own threads
 * do the work. */
typedef int (*eg_team_function)(void *user, unsigned threads,
                                void (*member)(void *argument, unsigned thread), void *argument);

/* ---- log ------------------------------------------------------------------------------------
 * The library never prints. A context with a log function calls it, from any of its threads, with
 * a message that is valid during the call only. */
typedef enum eg_log_level { EG_LOG_ERROR, EG_LOG_WARNING, EG_LOG_INFO, EG_LOG_DEBUG } eg_log_level;
typedef void (*eg_log_function)(void *user, eg_log_level level, const char *message);
EG_API const char *eg_log_level_name(eg_log_level level); /* "warning"; static */

/* ---- provenance -----------------------------------------------------------------------------
 * Every figure says where it comes from. `counted` is exact: computed from shapes, or read from
 * the system as it reports itself; `measured` was timed here; `modelled` was computed from
 * assumptions; `spec` stands in a data sheet; `table` was looked up in data/chips.csv by the name
 * of the chip: what others measured or found out, and neither a system nor a data sheet tells. */
#define EG_PROVENANCE_MAP(X)         \
    X(EG_UNAVAILABLE, "unavailable") \
    X(EG_MEASURED, "measured")       \
    X(EG_COUNTED, "counted")         \
    X(EG_SIMULATED, "simulated")     \
    X(EG_MODELLED, "modelled")       \
    X(EG_SPEC, "spec")               \
    X(EG_TABLE, "table")

typedef enum eg_provenance {
#define EG_PROVENANCE_ENUM(name, text) name,
    EG_PROVENANCE_MAP(EG_PROVENANCE_ENUM)
#undef EG_PROVENANCE_ENUM
} eg_provenance;

EG_API const char *eg_provenance_name(eg_provenance provenance); /* "measured"; static */

/* A value with its provenance. All zero is "unavailable"; value means nothing then and `source`
 * says why. */
typedef struct eg_metric {
    double value;
    eg_provenance provenance;
    const char *unit;   /* "GB/s", "bytes", ...; static, NULL for a pure number */
    const char *source; /* what gave it ("hwloc", "best of 64 bursts") or why not; static */
} eg_metric;

/* ---- clock ---------------------------------------------------------------------------------- */

/* Monotonic nanoseconds since an arbitrary start. Any thread. */
EG_API uint64_t eg_clock_ns(void);

typedef struct eg_clock_quality {
    double overhead_ns;   /* measured: the cost of one reading */
    double resolution_ns; /* measured: the smallest difference between two readings that is not 0 */
    const char *source;   /* the system clock behind it; static */
} eg_clock_quality;

/* Measures the clock itself; takes about a millisecond. */
EG_API eg_clock_quality eg_clock_measure(void);

/* ---- text ------------------------------------------------------------------------------------ */

/* Length (1 to 4 bytes) of the UTF-8 sequence at `at`; 0 = invalid UTF-8 (overlong forms and surrogates included).
 * Never reads past a zero byte, whose length is 1. */
EG_API size_t eg_utf8_length(const char *at);

/* ---- numbers --------------------------------------------------------------------------------
 * Written and read the same way in every locale. */

/* Writes the shortest decimal that reads back as the same double ("nan", "inf", "-inf" for those), and
 * returns its length without the terminator; EG_NUMBER_SIZE bytes always suffice. */
enum { EG_NUMBER_SIZE = 32 };
EG_API size_t eg_number_format(char out[EG_NUMBER_SIZE], double value);
/* The same for a float: "0.1", where the double of that value would need 17 digits. */
EG_API size_t eg_number_format_f32(char out[EG_NUMBER_SIZE], float value);

/* Reads exactly `length` bytes as one decimal number, the forms above included; the bytes need no
 * terminator. Anything before or after the number is EG_ERR_FORMAT, and *out is untouched then. */
EG_API eg_status eg_number_parse(const char *text, size_t length, double *out, eg_error *error);

/* The same for a decimal integer within [low, high]. */
EG_API eg_status eg_integer_parse(const char *text, size_t length, int64_t low, int64_t high,
                                  int64_t *out, eg_error *error);

/* ---- names ----------------------------------------------------------------------------------- */

/* The name that was probably meant by `word`: the one with the fewest letters inserted, left out, replaced or
 * swapped, capitals aside; NULL when none is close. `name_at` gives the names, NULL after the last. */
EG_API const char *eg_closest(const char *word, const char *(*name_at)(void *user, size_t index),
                              void *user);

/* The same as the end of a message: "; did you mean 'train'?", or "" when none is close. Returns `out`. */
enum { EG_DID_YOU_MEAN_SIZE = 96 };
EG_API const char *eg_did_you_mean(char out[EG_DID_YOU_MEAN_SIZE], const char *word,
                                   const char *(*name_at)(void *user, size_t index), void *user);

typedef struct eg_context eg_context; /* opaque; see context.h */

#ifdef __cplusplus
}
#endif
#endif
