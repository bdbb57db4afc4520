/* Clocks: what the frequency driver reports, else what /proc/cpuinfo does. */
#include "sensors/kinds.h"

#include <string.h>

typedef struct clocks {
    eg__cpu_kinds kinds;
    double sum[EG__CPU_KINDS];
    unsigned count[EG__CPU_KINDS], all;
} clocks;

static void clock_add(eg_sensors *s, clocks *c, const char *cpu, double hertz, const char *source) {
    const unsigned kind = eg__cpu_kind_of(&c->kinds, cpu);
    eg__sensing_put(s, EG_SENSOR_cpu_clock, cpu, hertz, EG_COUNTED, source);
    c->sum[kind] += hertz;
    c->count[kind]++;
    c->all++;
}

static void core_read(eg_sensors *s, const char *name, void *user) {
    double khz;
    if (eg__sensing_number(s, &khz, "sys/devices/system/cpu/%s/cpufreq/scaling_cur_freq", name) &&
        khz > 0)
        clock_add(s, user, name, khz * 1e3, "cpufreq: scaling_cur_freq");
}

static void cpuinfo_read(eg_sensors *s, clocks *c) {
    char line[256], cpu[32] = "cpu0", *key, *value;
    double mhz;
    eg__text file;
    if (!eg__root_open(s->root, "proc/cpuinfo", &file)) return;
    while (eg__line_read(&file, line, sizeof line)) {
        if (!eg__line_split(line, &key, &value)) continue;
        if (strcmp(key, "processor") == 0) snprintf(cpu, sizeof cpu, "cpu%.20s", value);
        if (strcmp(key, "cpu MHz") == 0 &&
            eg_number_parse(value, strlen(value), &mhz, NULL) == EG_OK && mhz > 0)
            clock_add(s, c, cpu, mhz * 1e6, "/proc/cpuinfo: cpu MHz");
    }
    eg__root_close(&file);
}

void eg__source_cpufreq(eg_sensors *s) {
    clocks c = {.all = 0};
    eg__cpu_kinds_read(s, &c.kinds);
    eg__folder_each(s, "sys/devices/system/cpu", "cpu", core_read, &c);
    if (!c.all) cpuinfo_read(s, &c);
    if (!c.all)
        eg__sensing_missing(s, EG_SENSOR_cpu_clock,
                            "no cpufreq driver, and /proc/cpuinfo has no clock");
    for (unsigned k = 0; c.kinds.count > 1 && k < c.kinds.count; k++)
        if (c.count[k])
            eg__sensing_put(s, EG_SENSOR_cpu_clock, eg__cpu_kind_name(s, k), c.sum[k] / c.count[k],
                            EG_COUNTED, "mean over the cores of its kind");
}
