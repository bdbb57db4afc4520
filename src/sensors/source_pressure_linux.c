/* Pressure stall information: how long tasks waited for cores and for memory. */
#include "sensors/sensing.h"

#include <string.h>

static void pressure_put(eg_sensors *s, eg_sensor sensor, const char *name) {
    char path[64], line[256], source[64];
    double share;
    eg__text file;
    bool found = false;
    snprintf(path, sizeof path, "proc/pressure/%s", name);
    snprintf(source, sizeof source, "/proc/pressure/%s: some avg10", name);
    if (!eg__root_open(s->root, path, &file)) {
        eg__sensing_missing(s, sensor, "no /%s: a kernel without pressure information", path);
        return;
    }
    while (!found && eg__line_read(&file, line, sizeof line)) {
        static const char start[] = "some avg10=";
        const char *number = line + sizeof start - 1;
        if (strncmp(line, start, sizeof start - 1) != 0) continue;
        if (eg_number_parse(number, strcspn(number, " "), &share, NULL) || share < 0 || share > 100)
            break;
        eg__sensing_put(s, sensor, "", share, EG_COUNTED, source);
        found = true;
    }
    eg__root_close(&file);
    if (!found) eg__sensing_missing(s, sensor, "/%s has no share 'some avg10'", path);
}

void eg__source_pressure(eg_sensors *s) {
    pressure_put(s, EG_SENSOR_cpu_pressure, "cpu");
    pressure_put(s, EG_SENSOR_memory_pressure, "memory");
}
