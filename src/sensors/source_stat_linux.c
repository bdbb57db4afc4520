/* Load of every core from /proc/stat, of each kind of cores, and of the whole machine. */
#include "sensors/kinds.h"

#include <string.h>

static const char source[] = "/proc/stat";

/* Ticks of a line: all that passed, those that worked, those that the hypervisor gave to others. */
typedef struct ticks {
    double all, busy, steal;
} ticks;

static bool ticks_read(char *line, ticks *out) {
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };
    double t[COLUMNS] = {0};
    char *rest = line;
    unsigned n = 0;
    for (char *word; n < COLUMNS && (word = strtok_r(rest, " ", &rest)); n++)
        if (eg_number_parse(word, strlen(word), &t[n], NULL)) return false;
    if (n <= IDLE) return false;
    *out = (ticks){.steal = t[STEAL]};
    out->busy = t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ];
    out->all = out->busy + t[IDLE] + t[IOWAIT] + t[STEAL];
    return true;
}

/* A sum over cores of one kind. */
typedef struct share {
    double all, busy;
} share;

static bool line_put(eg_sensors *s, const char *name, const char *label, const ticks *t,
                     share *out) {
    char key[64];
    double all, busy, steal, seconds;
    snprintf(key, sizeof key, "%.40s busy", name);
    const bool first = !eg__sensing_delta(s, source, key, t->busy, 0, &busy, &seconds);
    snprintf(key, sizeof key, "%.40s steal", name);
    const bool second = !eg__sensing_delta(s, source, key, t->steal, 0, &steal, &seconds);
    /* cores that were taken away and came back count from 0 again */
    if (!eg__sensing_delta(s, source, name, t->all, 0, &all, &seconds) || first || second ||
        all <= 0 || busy > all)
        return false;
    eg__sensing_put(s, EG_SENSOR_cpu_load, label, 100 * busy / all, EG_COUNTED, source);
    if (!label[0])
        eg__sensing_put(s, EG_SENSOR_cpu_steal, label, 100 * steal / all, EG_COUNTED, source);
    *out = (share){all, busy};
    return true;
}

void eg__source_stat(eg_sensors *s) {
    char line[512];
    eg__text file;
    eg__cpu_kinds kinds;
    share sums[EG__CPU_KINDS] = {{0, 0}}, one;
    if (!eg__root_open(s->root, "proc/stat", &file)) {
        eg__sensing_missing(s, EG_SENSOR_cpu_load, "no /proc/stat");
        eg__sensing_missing(s, EG_SENSOR_cpu_steal, "no /proc/stat");
        return;
    }
    eg__cpu_kinds_read(s, &kinds);
    while (eg__line_read(&file, line, sizeof line) && strncmp(line, "cpu", 3) == 0) {
        char *blank = strchr(line, ' ');
        ticks t;
        if (!blank) continue;
        *blank = 0;
        if (!ticks_read(blank + 1, &t)) {
            eg__sensing_missing(s, EG_SENSOR_cpu_load, "'%s' of /proc/stat has no ticks", line);
            continue;
        }
        const bool whole = line[3] == 0;
        if (line_put(s, line, whole ? "" : line, &t, &one) && !whole) {
            share *kind = &sums[eg__cpu_kind_of(&kinds, line)];
            kind->all += one.all;
            kind->busy += one.busy;
        }
    }
    eg__root_close(&file);
    for (unsigned k = 0; kinds.count > 1 && k < kinds.count; k++)
        if (sums[k].all > 0)
            eg__sensing_put(s, EG_SENSOR_cpu_load, eg__cpu_kind_name(s, k),
                            100 * sums[k].busy / sums[k].all, EG_COUNTED, source);
}
