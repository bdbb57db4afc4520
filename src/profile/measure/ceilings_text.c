/* Ceilings as text: what the cache on disk holds. */
#include "profile/measure/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Version 1 had no measured last-level cache and used the reported size for L3: such files are
 * measured again. */
#define HEADER "elegans ceilings 2"

typedef struct field {
    const char *name, *unit;
    size_t offset;
} field;
static const field fields[] = {
#define FIELD(name, unit, text) {#name, unit, offsetof(eg_ceilings, name)},
    EG_CEILING_MAP(FIELD)
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

size_t eg__ceilings_write(const eg_ceilings *c, unsigned threads, char out[EG__CEILINGS_TEXT]) {
    char number[EG_NUMBER_SIZE];
    eg_number_format(number, c->seconds);
    int at = snprintf(out, EG__CEILINGS_TEXT,
                      HEADER "\nfingerprint %s\nthreads %u\nmeasured_at %lld\n"
                             "seconds %s\n",
                      c->fingerprint, threads, (long long)c->measured_at, number);
    for (size_t i = 0; i < FIELDS; i++) {
        const eg_metric *metric = (const eg_metric *)((const char *)c + fields[i].offset);
        if (metric->provenance != EG_MEASURED) continue;
        eg_number_format(number, metric->value);
        at +=
            snprintf(out + at, (size_t)(EG__CEILINGS_TEXT - at), "%s %s\n", fields[i].name, number);
    }
    return (size_t)at;
}

/* Plausible limits, including emulators and future machines: a value beyond them is damaged or made
 * up. */
static bool is_plausible(const char *unit, double value) {
    static const struct {
        const char *unit;
        double least, most;
    } ranges[] = {{"GHz", 1e-3, 100},  {"GFLOP/s", 1e-6, 1e7}, {"FLOP/cycle", 1e-6, 1e5},
                  {"GB/s", 1e-6, 1e6}, {"MiB", 1e-3, 1e7},     {"ns", 1e-3, 1e10}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(unit, ranges[i].unit) == 0)
            return value >= ranges[i].least && value <= ranges[i].most;
    return false;
}

/* One line "name value" into the field of that name. */
static eg_status read_line(const char *line, size_t length, eg_ceilings *out, unsigned *threads,
                           eg_error *error) {
    const char *space = memchr(line, ' ', length);
    if (!space) return eg__fail(error, EG_ERR_FORMAT, "no value in '%.*s'", (int)length, line);
    size_t name = (size_t)(space - line), rest = length - name - 1;
    const char *value = space + 1;
    int64_t whole;
    eg_status status;
#define IS(text) (name == strlen(text) && memcmp(line, text, name) == 0)
    if (IS("fingerprint")) {
        if (rest >= sizeof out->fingerprint)
            return eg__fail(error, EG_ERR_FORMAT, "a fingerprint of %zu letters is too long", rest);
        memcpy(out->fingerprint, value, rest);
        return EG_OK;
    }
    if (IS("threads")) {
        status = eg_integer_parse(value, rest, 1, EG__THREADS_MAX, &whole, error);
        if (!status) *threads = (unsigned)whole;
        return status;
    }
    if (IS("measured_at"))
        return eg_integer_parse(value, rest, 0, INT64_MAX, &out->measured_at, error);
    double number;
    status = eg_number_parse(value, rest, &number, error);
    if (status) return status;
    if (!isfinite(number))
        return eg__fail(error, EG_ERR_FORMAT, "'%.*s' is not finite", (int)length, line);
    if (IS("seconds")) {
        out->seconds = number;
        return number >= 0 ? EG_OK
                           : eg__fail(error, EG_ERR_FORMAT,
                                      "measured for %g s, which is out of range", number);
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (!IS(fields[i].name)) continue;
        if (!is_plausible(fields[i].unit, number))
            return eg__fail(error, EG_ERR_FORMAT, "no machine has '%.*s' %s", (int)length, line,
                            fields[i].unit);
        *(eg_metric *)((char *)out + fields[i].offset) =
            eg__metric(number, fields[i].unit, EG_MEASURED, "measured earlier on this machine");
    }
#undef IS
    return EG_OK;
}

eg_status eg__ceilings_read(const char *text, size_t length, eg_ceilings *out, unsigned *threads,
                            eg_error *error) {
    memset(out, 0, sizeof *out);
    *threads = 0;
    for (size_t i = 0; i < FIELDS; i++)
        *(eg_metric *)((char *)out + fields[i].offset) =
            eg__metric_unavailable(fields[i].unit, "not in the stored measurement");
    size_t header = strlen(HEADER);
    if (length <= header || memcmp(text, HEADER "\n", header + 1) != 0)
        return eg__fail(error, EG_ERR_FORMAT, "not a file of ceilings");
    for (size_t at = header + 1; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        if (!end) return eg__fail(error, EG_ERR_FORMAT, "the last line has no end");
        size_t line = (size_t)(end - text) - at;
        eg_status status = read_line(text + at, line, out, threads, error);
        if (status) return status;
        at += line + 1;
    }
    if (!*threads || !out->fingerprint[0])
        return eg__fail(error, EG_ERR_FORMAT, "ceilings of no machine: no %s in the file",
                        *threads ? "fingerprint" : "threads");
    out->from_cache = 1;
    return EG_OK;
}
