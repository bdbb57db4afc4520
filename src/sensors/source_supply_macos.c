/* Mains and batteries of a Mac. */
#include "sensors/apple_macos.h"

#include <string.h>

static bool number_of(const eg__apple *a, eg__cf source, const char *key, double *out) {
    enum { FLOAT64 = 13 }; /* kCFNumberFloat64Type */
    eg__cf value = eg__apple_value(a, source, key);
    return value && a->CFNumberGetValue(value, FLOAT64, out);
}

void eg__source_supply(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    char text[64];
    if (s->root) return;
    if (!a || !a->has_iokit) {
        eg__sensing_missing(s, EG_SENSOR_battery, "IOKit has no functions for power sources");
        eg__sensing_missing(s, EG_SENSOR_on_mains, "IOKit has no functions for power sources");
        return;
    }
    eg__cf info = a->IOPSCopyPowerSourcesInfo();
    eg__cf list = info ? a->IOPSCopyPowerSourcesList(info) : NULL;
    for (long i = 0; list && i < a->CFArrayGetCount(list); i++) {
        eg__cf source = a->IOPSGetPowerSourceDescription(info, a->CFArrayGetValueAtIndex(list, i));
        double now, most;
        eg__apple_text(a, eg__apple_value(a, source, "Name"), text, sizeof text);
        if (number_of(a, source, "Current Capacity", &now) &&
            number_of(a, source, "Max Capacity", &most) && most > 0)
            eg__sensing_put(s, EG_SENSOR_battery, text, 100 * now / most, EG_COUNTED, "IOPS");
    }
    if (info) {
        eg__apple_text(a, a->IOPSGetProvidingPowerSourceType(info), text, sizeof text);
        if (text[0])
            eg__sensing_put(s, EG_SENSOR_on_mains, "", strcmp(text, "AC Power") == 0, EG_COUNTED,
                            "IOPS");
    }
    eg__sensing_missing(s, EG_SENSOR_battery, "IOPS lists no battery");
    eg__sensing_missing(s, EG_SENSOR_on_mains, "IOPS does not tell what feeds the machine");
    if (list) a->CFRelease(list);
    if (info) a->CFRelease(info);
}
