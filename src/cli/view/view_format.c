/* Figures in few columns, in the unit that people read. */
#include "cli/view/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *view_short(view_text out, double value) {
    static const char prefixes[] = " kMGTP";
    double size = fabs(value);
    int i = 0;
    for (; size >= 999.5 && i < 5; i++) size /= 1000;
    snprintf(out, VIEW_TEXT, "%s%.*f%.1s", value < 0 ? "-" : "",
             i == 0 && size == floor(size) ? 0
             : size < 9.995                ? 2
             : size < 99.95                ? 1
                                           : 0,
             size, i ? prefixes + i : "");
    return out;
}

const char *view_bytes(view_text out, double value) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; value >= 999.5 && unit < 4; unit++) value /= 1024;
    snprintf(out, VIEW_TEXT, "%.*f %s", unit == 0 || value >= 99.95 ? 0 : 1, value, units[unit]);
    return out;
}

const char *view_time(view_text out, double seconds) {
    static const struct {
        double factor;
        const char *unit;
    } units[] = {{1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s"}};
    const double whole = round(seconds);
    if (seconds >= 5400)
        snprintf(out, VIEW_TEXT, "%.0f h %.0f min", floor(whole / 3600),
                 floor(fmod(whole, 3600) / 60));
    else if (seconds >= 99.5)
        snprintf(out, VIEW_TEXT, "%.0f min %.0f s", floor(whole / 60), fmod(whole, 60));
    else {
        size_t i = 0;
        while (i < 3 && seconds * units[i].factor >= 999.5) i++;
        const double value = seconds * units[i].factor;
        snprintf(out, VIEW_TEXT, "%.*f %s", value < 9.95 ? 1 : 0, value, units[i].unit);
    }
    return out;
}

/* ---- by unit */
static void as_short(char *out, const char *unit, double value) {
    view_text number;
    const char *text = view_short(number, value);
    const size_t length = strlen(text);
    const bool prefix = length && strchr("kMGTP", text[length - 1]);
    snprintf(out, VIEW_TEXT, "%.*s %s%.20s", (int)(prefix ? length - 1 : length), text,
             prefix ? text + length - 1 : "", unit);
}
static void as_rate(char *out, const char *unit, double value) {
    view_text number;
    snprintf(out, VIEW_TEXT, "%s %.20s", view_short(number, value), unit);
}
static void as_bytes(char *out, const char *unit, double value) {
    (void)unit;
    view_bytes(out, value);
}
static void as_time(char *out, const char *unit, double value) {
    (void)unit;
    view_time(out, value);
}
static void as_tenths(char *out, const char *unit, double value) {
    snprintf(out, VIEW_TEXT, "%.1f %.20s", value, unit);
}
static void as_degrees(char *out, const char *unit, double value) {
    snprintf(out, VIEW_TEXT, "%.0f °%.4s", value, unit);
}
static void as_count(char *out, const char *unit, double value) {
    (void)unit;
    view_short(out, value);
}
static void as_answer(char *out, const char *unit, double value) {
    (void)unit;
    snprintf(out, VIEW_TEXT, "%s", value > 0 ? "yes" : "no");
}
static void as_level(char *out, const char *unit, double value) {
    snprintf(out, VIEW_TEXT, "%.20s %.0f", unit, value);
}

static const struct {
    const char *unit;
    void (*format)(char *out, const char *unit, double value);
} formats[] = {{"B", as_bytes},         {"s", as_time},        {"%", as_tenths},
               {"C", as_degrees},       {"steps", as_count},   {"tokens", as_count},
               {"epochs", as_count},    {"updates", as_count}, {"yes/no", as_answer},
               {"level", as_level},     {"W", as_tenths},      {"J", as_tenths},
               {"events/s", as_tenths}, {"steps/s", as_rate},  {"tokens/s", as_rate}};

const char *view_value(view_text out, const char *unit, double value) {
    if (!unit) {
        snprintf(out, VIEW_TEXT, "%.4g", value);
        return out;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].unit, unit) == 0) {
            formats[i].format(out, unit, value);
            return out;
        }
    as_short(out, unit, value);
    return out;
}

const char *view_metric(view_text out, const eg_metric *m) {
    if (m->provenance == EG_UNAVAILABLE) snprintf(out, VIEW_TEXT, "-");
    else view_value(out, m->unit, m->value);
    return out;
}

const char *view_spaced(view_text out, const char *name) {
    snprintf(out, VIEW_TEXT, "%s", name);
    for (char *c = out; *c; c++)
        if (*c == '_') *c = ' ';
    return out;
}
