/* Figures as people read them: three or four digits that matter, and a unit. */
#include "report/report.h"

#include <math.h>
#include <string.h>

const char *eg__report_count(char out[48], double value) {
    char digits[32];
    size_t used = 0;
    if (!(fabs(value) < 1e15)) {
        eg__report_print(out, 48, isnan(value) ? "-" : "%.4g", value);
        return out;
    }
    const size_t length = eg__report_print(digits, sizeof digits, "%.0f", fabs(value));
    if (value <= -0.5) out[used++] = '-';
    for (size_t i = 0; i < length; i++) {
        /* four digits are read at a glance */
        if (i && length > 4 && (length - i) % 3 == 0)
            used += eg__report_print(out + used, 48 - used, "\u202f");
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

const char *eg__report_clip(char *text) {
    size_t end = strlen(text), back = 0;
    while (back < end && back < 3 && ((unsigned char)text[end - 1 - back] & 0xc0) == 0x80) back++;
    if (back == end) return text;
    const unsigned char lead = (unsigned char)text[end - 1 - back];
    const size_t needs = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (needs > back) text[end - 1 - back] = 0;
    return text;
}

const char *eg__report_bytes(char out[32], double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = bytes > 0 ? floor(bytes) : 0; /* also for NaN */
    int unit = 0;
    for (; value >= 1024 && unit < 4; unit++) value /= 1024;
    eg__report_print(out, 32, value == floor(value) ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

const char *eg__report_seconds(char out[32], double seconds) {
    const double length = fabs(seconds);
    const double scale = length < 1e-6 ? 1e9 : length < 1e-3 ? 1e6 : length < 1 ? 1e3 : 1;
    const char *unit = scale == 1e9 ? "ns" : scale == 1e6 ? "us" : scale == 1e3 ? "ms" : "s";
    const double value = seconds * scale, size = fabs(value);
    char number[48];
    if (size < 1000) eg__report_print(number, sizeof number, size < 10 ? "%.2f" : "%.1f", value);
    else eg__report_count(number, value);
    eg__report_print(out, 32, "%.24s %s", number, unit);
    return out;
}

double eg__report_step(double range, double most) {
    const double rough = range / most, power = pow(10, floor(log10(rough)));
    return (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1) * power;
}

const char *eg__report_value(char out[64], const eg__json_value *metric) {
    const double value = eg__json_number(metric, "value");
    const char *unit = eg__json_text(metric, "unit");
    char text[48];
    if (!isfinite(value)) eg__report_print(out, 64, "unavailable");
    else if (strcmp(unit, "ratio") == 0) eg__report_print(out, 64, "%.1f %%", 100 * value);
    else if (strcmp(unit, "s") == 0)
        eg__report_print(out, 64, "%s", eg__report_seconds(text, value));
    else if (strcmp(unit, "B") == 0) eg__report_print(out, 64, "%s", eg__report_bytes(text, value));
    else if (fabs(value) >= 1e4 && fabs(value) < 1e12)
        eg__report_print(out, 64, "%s %s", eg__report_count(text, value), unit);
    else eg__report_print(out, 64, "%.4g %s", value, unit);
    return eg__report_clip(out);
}
