/* Mains and batteries of the machine; those of mice and pens do not count. */
#include "sensors/sensing.h"

#include <math.h>
#include <string.h>

typedef struct supplies {
    bool mains, discharging, charged;
    unsigned batteries;
} supplies;

static const char folder[] = "sys/class/power_supply";

/* What a battery delivers: its own figure, else current times voltage. Some drivers give either a sign. */
static bool battery_power(const eg_sensors *s, const char *name, double *watts) {
    double power, current, voltage;
    if (eg__sensing_number(s, &power, "%s/%s/power_now", folder, name)) *watts = fabs(power) * 1e-6;
    else if (eg__sensing_number(s, &current, "%s/%s/current_now", folder, name) &&
             eg__sensing_number(s, &voltage, "%s/%s/voltage_now", folder, name))
        *watts = fabs(current) * fabs(voltage) * 1e-12;
    else return false;
    return true;
}

static void supply_read(eg_sensors *s, const char *name, void *user) {
    supplies *p = user;
    char type[32], text[32], rail[EG_READING_LABEL];
    double number;
    if (!eg__sensing_text(s, type, sizeof type, "%s/%s/type", folder, name)) return;
    if (eg__sensing_text(s, text, sizeof text, "%s/%s/scope", folder, name) &&
        strcmp(text, "Device") == 0)
        return;
    if (strcmp(type, "Battery") != 0) {
        p->mains |= eg__sensing_number(s, &number, "%s/%s/online", folder, name) && number > 0;
        return;
    }
    eg__sensing_text(s, text, sizeof text, "%s/%s/status", folder, name);
    p->discharging |= strcmp(text, "Discharging") == 0;
    p->charged |= strcmp(text, "Charging") == 0 || strcmp(text, "Full") == 0 ||
                  strcmp(text, "Not charging") == 0;
    if (eg__sensing_number(s, &number, "%s/%s/capacity", folder, name) && number >= 0 &&
        number <= 100) {
        p->batteries++;
        eg__sensing_put(s, EG_SENSOR_battery, name, number, EG_COUNTED, "/sys/class/power_supply");
    }
    snprintf(rail, sizeof rail, "battery %.30s", name);
    if (p->discharging && battery_power(s, name, &number))
        eg__sensing_put(s, EG_SENSOR_power, rail, number, EG_MEASURED,
                        "/sys/class/power_supply, while it discharges");
}

void eg__source_power_supply(eg_sensors *s) {
    supplies p = {.mains = false};
    eg__folder_each(s, folder, "", supply_read, &p);
    if (!p.batteries)
        eg__sensing_missing(s, EG_SENSOR_battery, "no battery in /sys/class/power_supply");
    /* a battery that discharges beside a supply that is plugged in: the supply is too weak */
    if (p.discharging || p.mains || p.charged)
        eg__sensing_put(s, EG_SENSOR_on_mains, "", !p.discharging, EG_COUNTED,
                        "/sys/class/power_supply");
    else eg__sensing_missing(s, EG_SENSOR_on_mains, "no supply in /sys/class/power_supply");
}
