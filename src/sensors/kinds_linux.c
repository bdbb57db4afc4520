/* Kinds of cores by the capacity that the kernel gives them, or by Intel's lists of core types. */
#include "sensors/kinds.h"

#include <string.h>

static bool number_of(const char *cpu, unsigned *out) {
    uint64_t n;
    if (strncmp(cpu, "cpu", 3) != 0 || !eg__text_number(cpu + 3, &n) || n >= EG__CPUS) return false;
    *out = (unsigned)n;
    return true;
}

typedef struct capacities {
    double of[EG__CPUS];
    double values[EG__CPU_KINDS]; /* those that there are, the largest first */
    unsigned count;
} capacities;

static void capacity_read(eg_sensors *s, const char *name, void *user) {
    capacities *c = user;
    unsigned cpu, at;
    double value;
    if (!number_of(name, &cpu) ||
        !eg__sensing_number(s, &value, "sys/devices/system/cpu/%s/cpu_capacity", name))
        return;
    c->of[cpu] = value;
    for (unsigned i = 0; i < c->count; i++)
        if (c->values[i] == value) return;
    if (c->count == EG__CPU_KINDS) return;
    for (at = c->count++; at > 0 && c->values[at - 1] < value; at--)
        c->values[at] = c->values[at - 1];
    c->values[at] = value;
}

/* "0-3,8": all of them are of this kind. */
static bool list_read(const eg_sensors *s, const char *path, unsigned kind, eg__cpu_kinds *out) {
    char text[256], *rest = text;
    if (!eg__sensing_text(s, text, sizeof text, "%s", path)) return false;
    for (char *word; (word = strtok_r(rest, ",", &rest));) {
        uint64_t from, to;
        char *dash = strchr(word, '-');
        if (dash) *dash = 0;
        if (!eg__text_number(word, &from)) continue;
        if (!dash || !eg__text_number(dash + 1, &to)) to = from;
        for (uint64_t i = from; i <= to && i < EG__CPUS; i++) out->kind[i] = (unsigned char)kind;
    }
    return true;
}

void eg__cpu_kinds_read(eg_sensors *s, eg__cpu_kinds *out) {
    capacities c = {.count = 0};
    memset(out, 0, sizeof *out);
    out->count = 1;
    if (list_read(s, "sys/devices/cpu_atom/cpus", 1, out)) {
        out->count = 2;
        return;
    }
    eg__folder_each(s, "sys/devices/system/cpu", "cpu", capacity_read, &c);
    for (unsigned cpu = 0; cpu < EG__CPUS; cpu++)
        for (unsigned k = 0; k < c.count; k++)
            if (c.of[cpu] == c.values[k]) out->kind[cpu] = (unsigned char)k;
    if (c.count > 1) out->count = c.count;
}

unsigned eg__cpu_kind_of(const eg__cpu_kinds *kinds, const char *cpu) {
    unsigned n;
    return number_of(cpu, &n) ? kinds->kind[n] : 0;
}

const char *eg__cpu_kind_name(const eg_sensors *s, unsigned kind) {
    static const char *const names[] = {"fastest cores", "second cores", "third cores",
                                        "fourth cores"};
    _Static_assert(sizeof names / sizeof *names == EG__CPU_KINDS, "a name for each");
    /* the chip of the context is this machine, not the recorded one */
    return !s->root && kind < s->chip->kind_count && s->chip->kind_count > 1
               ? s->chip->kinds[kind].name
               : names[kind];
}
