/* Units that people write, and the base units of figures. */
#include "monitor/alert.h"
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *base, *name;
    double factor;
} units[] = {
    {"s", "ns", 1e-9},
    {"s", "us", 1e-6},
    {"s", "ms", 1e-3},
    {"s", "s", 1},
    {"s", "min", 60},
    {"s", "h", 3600},
    {"B", "B", 1},
    {"B", "kB", 1e3},
    {"B", "MB", 1e6},
    {"B", "GB", 1e9},
    {"B", "KiB", 1024},
    {"B", "MiB", 1048576},
    {"B", "GiB", 1073741824},
    {"B/s", "B/s", 1},
    {"B/s", "MB/s", 1e6},
    {"B/s", "GB/s", 1e9},
    {"FLOP/s", "FLOP/s", 1},
    {"FLOP/s", "MFLOP/s", 1e6},
    {"FLOP/s", "GFLOP/s", 1e9},
    {"FLOP/s", "TFLOP/s", 1e12},
    {"Hz", "Hz", 1},
    {"Hz", "MHz", 1e6},
    {"Hz", "GHz", 1e9},
    {"W", "W", 1},
    {"W", "mW", 1e-3},
    {"J", "J", 1},
    {"J", "kJ", 1e3},
    {"steps/s", "steps/s", 1},
    {"steps/s", "/s", 1},
    {"tokens/s", "tokens/s", 1},
    {"tokens/s", "/s", 1},
};
enum { UNITS = sizeof units / sizeof *units };

static bool is(const char *text, const char *name, size_t length) {
    return strlen(text) == length && memcmp(text, name, length) == 0;
}

double eg__unit_factor(const char *base, const char *name, size_t length) {
    if (!length) return 1; /* as the figure is */
    if (base && is(base, name, length)) return 1;
    for (size_t i = 0; base && i < UNITS; i++)
        if (strcmp(units[i].base, base) == 0 && is(units[i].name, name, length))
            return units[i].factor;
    return 0;
}

const char *eg__unit_show(char out[EG__UNIT_TEXT], const char *base, double value) {
    const char *unit = base ? base : "";
    double factor = 0; /* of the largest unit that is not larger than the value */
    for (size_t i = 0; base && i < UNITS; i++)
        if (strcmp(units[i].base, base) == 0 && units[i].factor > factor &&
            units[i].factor <= fabs(value)) {
            factor = units[i].factor;
            unit = units[i].name;
        }
    snprintf(out, EG__UNIT_TEXT, "%.4g%s%s", factor > 0 ? value / factor : value,
             unit[0] ? " " : "", unit);
    eg__number_dot(out);
    return out;
}

const char *eg__unit_names(const char *base, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; base && i < UNITS && used < size; i++)
        if (strcmp(units[i].base, base) == 0)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", units[i].name);
    if (!used) snprintf(out, size, "%s", base ? base : "none, it is a pure number");
    return out;
}
