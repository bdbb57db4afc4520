/* Energy of packages, their cores and DRAM, and of the whole platform: RAPL as powercap shows it. */
#include "sensors/sensing.h"

#include <string.h>

typedef struct zones {
    unsigned seen, read;
} zones;

/* "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it; "intel-rapl-mmio:0" is the same package again. */
static void zone_read(eg_sensors *s, const char *zone, void *user) {
    zones *z = user;
    char name[24], package[24] = "", rail[EG_READING_LABEL];
    double microjoules, range = 0;
    const char *last = strrchr(zone, ':');
    if (strncmp(zone, "intel-rapl:", 11) != 0) return;
    z->seen++;
    if (!eg__sensing_text(s, name, sizeof name, "sys/class/powercap/%s/name", zone) ||
        !eg__sensing_number(s, &microjoules, "sys/class/powercap/%s/energy_uj", zone))
        return;
    z->read++;
    if (last && last > zone + 10)
        eg__sensing_text(s, package, sizeof package, "sys/class/powercap/%.*s/name",
                         (int)(last - zone), zone);
    snprintf(rail, sizeof rail, "%s%s%s", package, package[0] ? " " : "", name);
    eg__sensing_number(s, &range, "sys/class/powercap/%s/max_energy_range_uj", zone);
    eg__sensing_energy(s, rail, microjoules * 1e-6, range * 1e-6, "powercap: energy_uj (RAPL)");
}

void eg__source_powercap(eg_sensors *s) {
    zones z = {0, 0};
    eg__folder_each(s, "sys/class/powercap", "intel-rapl", zone_read, &z);
    const char *why = !z.seen   ? "no RAPL zone in /sys/class/powercap"
                      : !z.read ? "energy_uj of /sys/class/powercap is readable by root alone"
                                : "its counters were read once only, or were reset";
    eg__sensing_missing(s, EG_SENSOR_power, "%s", why);
    eg__sensing_missing(s, EG_SENSOR_energy, "%s", why);
}
