/* Figures as people read them: three or four digits that matter, and a unit. */
#include "report/report.h"

#include <math.h>
#include <string.h>

const char *eg__report_bytes(char out[32], double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = bytes > 0 ? floor(bytes) : 0; /* also for NaN */
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++) value /= 1024;
    eg__report_print(out, 32, value == floor(value) ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *eg__report_seconds(char out[32], double seconds) {
    const double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    const char *unit = scale == 1e9 ? "ns" : scale == 1e6 ? "us" : scale == 1e3 ? "ms" : "s";
    const double value = seconds * scale, size = fabs(value);
    char number[32];
    eg__report_print(number, sizeof number,
                     size < 10     ? "%.2f"
                     : size < 1000 ? "%.1f"
                                   : "%.0f",
                     value);
    eg__report_print(out, 32, "%.20s %s", number, unit);
    return out;
}

double eg__report_step(double range, double most) {
    const double rough = range / most, power = pow(10, floor(log10(rough)));
    return (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1) * power;
}

const char *eg__report_value(char out[64], const eg__json_value *metric) {
    const double value = eg__json_number(metric, "value");
    const char *unit = eg__json_text(metric, "unit");
    char text[32];
    if (!isfinite(value)) eg__report_print(out, 64, "unavailable");
    else if (strcmp(unit, "ratio") == 0) eg__report_print(out, 64, "%.1f %%", 100 * value);
    else if (strcmp(unit, "s") == 0)
        eg__report_print(out, 64, "%s", eg__report_seconds(text, value));
    else if (strcmp(unit, "B") == 0) eg__report_print(out, 64, "%s", eg__report_bytes(text, value));
    else if (fabs(value) >= 1e4 && fabs(value) < 1e9)
        eg__report_print(out, 64, "%.0f %s", value, unit);
    else eg__report_print(out, 64, "%.4g %s", value, unit);
    return out;
}
