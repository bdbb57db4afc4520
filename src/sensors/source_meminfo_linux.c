/* Memory and swap, the limits of a container included. */
#include "sensors/sensing.h"

#include <string.h>

static double kilobytes(const char *value) {
    double number;
    const size_t digits = strspn(value, "0123456789");
    return eg_number_parse(value, digits, &number, NULL) ? -1 : number * 1024;
}

void eg__source_meminfo(eg_sensors *s) {
    static const char source[] = "/proc/meminfo and the limits of the container";
    char line[256], *key, *value;
    uint64_t total = 0, available = 0;
    double swap = -1, free = -1;
    eg__text file;
    eg__meminfo_read(s->root, NULL, &total, &available);
    if (total && available <= total) {
        eg__sensing_put(s, EG_SENSOR_memory_total, "", (double)total, EG_COUNTED, source);
        eg__sensing_put(s, EG_SENSOR_memory_used, "", (double)(total - available), EG_COUNTED,
                        source);
    } else {
        eg__sensing_missing(s, EG_SENSOR_memory_total, "no MemTotal in /proc/meminfo");
        eg__sensing_missing(s, EG_SENSOR_memory_used, "no MemAvailable in /proc/meminfo");
    }
    if (eg__root_open(s->root, "proc/meminfo", &file)) {
        while (eg__line_read(&file, line, sizeof line)) {
            if (!eg__line_split(line, &key, &value)) continue;
            if (strcmp(key, "SwapTotal") == 0) swap = kilobytes(value);
            if (strcmp(key, "SwapFree") == 0) free = kilobytes(value);
        }
        eg__root_close(&file);
    }
    if (swap >= 0 && free >= 0 && free <= swap)
        eg__sensing_put(s, EG_SENSOR_swap_used, "", swap - free, EG_COUNTED, "/proc/meminfo");
    else eg__sensing_missing(s, EG_SENSOR_swap_used, "no SwapTotal and SwapFree in /proc/meminfo");
    eg__sensing_missing(s, EG_SENSOR_memory_bandwidth,
                        "Linux reports no traffic of the DRAM to programs without privileges");
    eg__sensing_missing(s, EG_SENSOR_memory_level, "Linux reports pressure as a share of time");
}
