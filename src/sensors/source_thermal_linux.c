/* Temperatures of thermal zones and of hwmon chips, how far cooling has gone, and how often heat lowered the clock. */
#include "sensors/sensing.h"

#include <string.h>

/* Readings outside are those of broken or absent sensors. */
static bool plausible(double degrees) { return degrees > -60 && degrees < 150; }

static void zone_read(eg_sensors *s, const char *zone, void *user) {
    char type[EG_READING_LABEL], source[EG_READING_SOURCE];
    double millis;
    unsigned *count = user;
    if (!eg__sensing_number(s, &millis, "sys/class/thermal/%s/temp", zone) ||
        !plausible(millis * 1e-3))
        return;
    if (!eg__sensing_text(s, type, sizeof type, "sys/class/thermal/%s/type", zone))
        snprintf(type, sizeof type, "%.40s", zone);
    snprintf(source, sizeof source, "/sys/class/thermal/%.60s", zone);
    eg__sensing_put(s, EG_SENSOR_temperature, type, millis * 1e-3, EG_MEASURED, source);
    ++*count;
}

typedef struct hwmon {
    const char *folder;
    char chip[24];
    unsigned *count;
} hwmon;

static void input_read(eg_sensors *s, const char *file, void *user) {
    const hwmon *h = user;
    char name[24], label[EG_READING_LABEL], source[EG_READING_SOURCE];
    double millis;
    const size_t stem = strcspn(file, "_");
    if (strcmp(file + stem, "_input") != 0 ||
        !eg__sensing_number(s, &millis, "sys/class/hwmon/%s/%s", h->folder, file) ||
        !plausible(millis * 1e-3))
        return;
    if (!eg__sensing_text(s, name, sizeof name, "sys/class/hwmon/%s/%.*s_label", h->folder,
                          (int)stem, file))
        snprintf(name, sizeof name, "%.*s", (int)eg__min(stem, sizeof name - 1), file);
    snprintf(label, sizeof label, "%s %s", h->chip, name);
    snprintf(source, sizeof source, "/sys/class/hwmon/%.40s", h->folder);
    eg__sensing_put(s, EG_SENSOR_temperature, label, millis * 1e-3, EG_MEASURED, source);
    ++*h->count;
}

static void hwmon_read(eg_sensors *s, const char *folder, void *user) {
    char path[128];
    hwmon h = {folder, "", user};
    if (!eg__sensing_text(s, h.chip, sizeof h.chip, "sys/class/hwmon/%s/name", folder))
        snprintf(h.chip, sizeof h.chip, "%.20s", folder);
    snprintf(path, sizeof path, "sys/class/hwmon/%.64s", folder);
    eg__folder_each(s, path, "temp", input_read, &h);
}

/* The share of its steps that a cooling device has taken; the largest counts. Fans cool without slowing anything. */
static void cooling_read(eg_sensors *s, const char *device, void *user) {
    char type[32];
    double now, most, *worst = user;
    if (!eg__sensing_text(s, type, sizeof type, "sys/class/thermal/%s/type", device) ||
        strstr(type, "Fan") || strstr(type, "fan") ||
        !eg__sensing_number(s, &now, "sys/class/thermal/%s/cur_state", device) ||
        !eg__sensing_number(s, &most, "sys/class/thermal/%s/max_state", device) || most <= 0 ||
        now < 0 || now > most)
        return;
    if (now / most > *worst) *worst = now / most;
}

typedef struct throttles {
    double sum;
    bool any;
} throttles;
static void throttle_read(eg_sensors *s, const char *cpu, void *user) {
    throttles *t = user;
    double count;
    if (!eg__sensing_number(s, &count,
                            "sys/devices/system/cpu/%s/thermal_throttle/core_throttle_count", cpu))
        return;
    t->sum += count;
    t->any = true;
}

void eg__source_thermal(eg_sensors *s) {
    unsigned zones = 0, inputs = 0;
    double worst = -1, delta, seconds;
    throttles t = {0, false};
    eg__folder_each(s, "sys/class/thermal", "thermal_zone", zone_read, &zones);
    eg__folder_each(s, "sys/class/hwmon", "hwmon", hwmon_read, &inputs);
    if (!zones && !inputs)
        eg__sensing_missing(s, EG_SENSOR_temperature,
                            "no sensor in /sys/class/thermal and /sys/class/hwmon");
    eg__folder_each(s, "sys/class/thermal", "cooling_device", cooling_read, &worst);
    if (worst < 0)
        eg__sensing_missing(s, EG_SENSOR_thermal_level,
                            "no cooling device in /sys/class/thermal that slows the machine");
    else /* thirds of the way: the kernel has steps, not names */
        eg__sensing_put(
            s, EG_SENSOR_thermal_level, "",
            worst <= 0       ? 0
            : worst < 1 / 3. ? 1
            : worst < 2 / 3. ? 2
                             : 3,
            EG_MODELLED,
            "cooling devices of /sys/class/thermal: nominal, then thirds of their steps");
    eg__folder_each(s, "sys/devices/system/cpu", "cpu", throttle_read, &t);
    if (!t.any)
        eg__sensing_missing(s, EG_SENSOR_throttling, "no thermal_throttle counters of the cores");
    else if (eg__sensing_delta(s, "thermal_throttle", "all", t.sum, 0, &delta, &seconds))
        eg__sensing_put(s, EG_SENSOR_throttling, "", delta / seconds, EG_COUNTED,
                        "core_throttle_count of all cores");
}
