/* Apple's IOReport: energy by rail, clocks from the time that cores and GPU spent in their states, traffic of the DRAM.
 * Channels come from the system or, with a root, from its recording ioreport.txt. */
#include "sensors/ioreport.h"

#include <math.h>
#include <string.h>

/* What a channel is good for. A row whose group exists although none of its channels does was renamed by an update of
 * the system: that is said by name. */
typedef enum use { ENERGY, CORE, GPU, TRAFFIC, HISTOGRAM } use;
typedef struct row {
    const char *group, *subgroup, *name; /* a name may be followed by a number */
    use use;
    eg_sensor sensor; /* that is missing without it */
    const char *rail; /* ENERGY: its name here. CORE: the table of clocks */
    const char *kind; /* CORE: the name of the kind */
    unsigned
        backup : 1; /* used only where an earlier row of the same rail or sensor found nothing */
} row;

static const row rows[] = {
    {"Energy Model", "", "CPU Energy", ENERGY, EG_SENSOR_power, "CPU", NULL, 0},
    {"Energy Model", "", "GPU Energy", ENERGY, EG_SENSOR_power, "GPU", NULL, 0},
    {"Energy Model", "", "ANE", ENERGY, EG_SENSOR_power, "ANE", NULL, 0},
    {"Energy Model", "", "DRAM", ENERGY, EG_SENSOR_power, "DRAM", NULL, 0},
    {"PMP", "Energy Counters", "ANE", ENERGY, EG_SENSOR_power, "ANE", NULL, 1},
    {"PMP", "Energy Counters", "DRAM", ENERGY, EG_SENSOR_power, "DRAM", NULL, 1},
    {"CPU Stats", "CPU Core Performance States", "PCPU", CORE, EG_SENSOR_cpu_clock,
     "voltage-states5-sram", "Performance", 0},
    {"CPU Stats", "CPU Core Performance States", "ECPU", CORE, EG_SENSOR_cpu_clock,
     "voltage-states1-sram", "Efficiency", 0},
    {"GPU Stats", "GPU Performance States", "GPUPH", GPU, EG_SENSOR_gpu_load, "voltage-states9",
     NULL, 0},
    {"AMC Stats", "Perf Counters", "DCS RD", TRAFFIC, EG_SENSOR_memory_bandwidth, NULL, NULL, 0},
    {"AMC Stats", "Perf Counters", "DCS WR", TRAFFIC, EG_SENSOR_memory_bandwidth, NULL, NULL, 0},
    {"PMP", "DCS BW", "AMCC RD+WR", HISTOGRAM, EG_SENSOR_memory_bandwidth, NULL, NULL, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct found {
    unsigned channels;    /* of this row */
    bool group;           /* some channel of its group and subgroup */
    bool empty;           /* a channel that is not populated */
    char other[48];       /* a channel of the group that no row knows */
    double sum;           /* joules or bytes */
    double clock, weight; /* of the cores of a kind: mean clock times active share, active share */
    double active;        /* shares of the time that cores worked, added up */
} found;

typedef struct pass {
    found of[ROWS];
    double seconds;
    bool any;
} pass;

/* ---- names */

/* "DIE_1_PCPU3" of two dies, "DIE1 ", "PRIM ": the rest is the name. */
static const char *without_die(const char *name) {
    if (strncmp(name, "PRIM ", 5) == 0) return name + 5;
    if (strncmp(name, "DIE", 3) != 0) return name;
    const char *digits = name + 3 + (name[3] == '_');
    const size_t n = strspn(digits, "0123456789");
    return n && (digits[n] == '_' || digits[n] == ' ') ? digits + n + 1 : name;
}

/* "PCPU" is also PCPU3 and, on two dies, PCPU1_CPU0; not PCPM, which is the fabric beside the cores. */
static bool is_named(const char *channel, const char *name) {
    const char *rest = without_die(channel);
    const size_t length = strlen(name);
    if (strncmp(rest, name, length) != 0) return false;
    rest += length;
    rest += strspn(rest, "0123456789");
    if (strncmp(rest, "_CPU", 4) == 0) rest += 4;
    if (*rest == '_') rest++;
    return rest[strspn(rest, "0123456789")] == 0;
}

/* ---- channels */
static double joules(const eg__channel *c) {
    static const struct {
        const char *unit;
        double scale;
    } units[] = {{"mJ", 1e-3}, {"uJ", 1e-6}, {"nJ", 1e-9}, {"J", 1}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(c->unit, units[i].unit) == 0) return (double)c->value * units[i].scale;
    return NAN;
}

static bool is_idle(const char *state) {
    return strcmp(state, "IDLE") == 0 || strcmp(state, "DOWN") == 0 || strcmp(state, "OFF") == 0;
}

/* The share of the time in states that work, and the mean clock in those; the clocks of a table are in the
 * order of the states. */
typedef struct residency {
    double active, hertz; /* hertz 0 = unknown */
} residency;
static bool residency_of(const eg__channel *c, const eg__clock_table *clocks, residency *out) {
    double all = 0, active = 0, cycles = 0;
    unsigned index = 0;
    /* a table that begins with 0, the state of being off, has one more entry than states that work */
    const unsigned skip = clocks->count && clocks->hertz[0] <= 0;
    for (unsigned i = 0; i < c->states; i++) {
        const double time = (double)c->state[i].time;
        if (time < 0) return false;
        all += time;
        if (is_idle(c->state[i].name)) continue;
        active += time;
        if (index + skip < clocks->count) cycles += time * clocks->hertz[index + skip];
        index++;
    }
    if (all <= 0) return false;
    const bool fits = index + skip == clocks->count;
    *out = (residency){active / all, fits && active > 0 ? cycles / active : 0};
    return true;
}

static void core_add(eg_sensors *s, const row *r, found *f, const eg__channel *c) {
    static const char source[] = "IOReport: time of the core in its performance states";
    eg__clock_table clocks = {0, {0}};
    residency spent;
    if (s->root) eg__clocks_recorded(s, r->rail, &clocks);
    else eg__clocks_live(s, r->rail, &clocks);
    if (!residency_of(c, &clocks, &spent)) return;
    eg__sensing_put(s, r->use == GPU ? EG_SENSOR_gpu_load : EG_SENSOR_cpu_load,
                    r->use == GPU ? "" : c->name, 100 * spent.active, EG_COUNTED, source);
    f->active += spent.active;
    if (spent.hertz <= 0) return;
    eg__sensing_put(
        s, r->use == GPU ? EG_SENSOR_gpu_clock : EG_SENSOR_cpu_clock, r->use == GPU ? "" : c->name,
        spent.hertz, EG_MODELLED,
        "IOReport: clock while it worked, times in states with the table of their clocks");
    f->clock += spent.hertz * spent.active;
    f->weight += spent.active;
}

/* Buckets named "  8GB/s": the time in each, taken at its upper end, is all there is. */
static double histogram_bytes(const eg__channel *c) {
    double all = 0, sum = 0, n;
    for (unsigned i = 0; i < c->states; i++) {
        const char *name = c->state[i].name + strspn(c->state[i].name, " ");
        const size_t digits = strspn(name, "0123456789.");
        if (strcmp(name + digits, "GB/s") != 0 || c->state[i].time < 0 ||
            eg_number_parse(name, digits, &n, NULL))
            return NAN;
        all += (double)c->state[i].time;
        sum += (double)c->state[i].time * n * 1e9;
    }
    return all > 0 ? sum / all : NAN;
}

static void channel_use(eg_sensors *s, pass *p, unsigned index, const eg__channel *c) {
    const row *r = &rows[index];
    found *f = &p->of[index];
    f->channels++;
    if (!c->states && c->value == INT64_MIN) {
        f->empty = true;
        return;
    }
    switch (r->use) {
    case ENERGY: f->sum += joules(c); break;
    case CORE:
    case GPU: core_add(s, r, f, c); break;
    case TRAFFIC: f->sum += (double)c->value; break;
    case HISTOGRAM: f->sum += histogram_bytes(c); break;
    }
}

static void channel_add(eg_sensors *s, const eg__channel *c, void *user) {
    pass *p = user;
    p->any = true;
    for (unsigned i = 0; i < ROWS; i++) {
        found *f = &p->of[i];
        if (strcmp(c->group, rows[i].group) != 0 ||
            (rows[i].subgroup[0] && strcmp(c->subgroup, rows[i].subgroup) != 0))
            continue;
        f->group = true;
        if (is_named(c->name, rows[i].name)) channel_use(s, p, i, c);
        else if (!f->other[0]) snprintf(f->other, sizeof f->other, "%s", c->name);
    }
}

/* ---- what follows */
static bool usable(const found *f) { return f->channels && !f->empty && isfinite(f->sum); }

/* Whether an earlier row gave this rail or sensor. */
static bool given_before(const pass *p, unsigned index) {
    for (unsigned i = 0; i < index; i++)
        if (rows[i].sensor == rows[index].sensor && usable(&p->of[i]) &&
            (rows[index].use != ENERGY || strcmp(rows[i].rail, rows[index].rail) == 0))
            return true;
    return false;
}

static void rail_put(eg_sensors *s, const pass *p, unsigned index) {
    /* watts that others have seen at most: no data sheet has them */
    enum { ANE_WATTS = 8 };
    const row *r = &rows[index];
    const double watts = p->of[index].sum / p->seconds;
    eg__sensing_energy_add(s, r->rail, p->of[index].sum, p->seconds, "IOReport: Energy Model");
    if (strcmp(r->rail, "ANE") == 0)
        eg__sensing_put(s, EG_SENSOR_ane_load, "", fmin(100, 100 * watts / ANE_WATTS), EG_MODELLED,
                        "power of its rail over 8 W, the most that others have seen");
}

static void row_say_missing(eg_sensors *s, const row *r, const found *f) {
    if (f->empty)
        eg__sensing_missing(s, r->sensor, "IOReport does not populate '%s' of '%s'", r->name,
                            r->group);
    else if (!f->group)
        eg__sensing_missing(s, r->sensor, "IOReport has no group '%s'%s%s", r->group,
                            r->subgroup[0] ? " / " : "", r->subgroup);
    else if (!f->channels)
        eg__sensing_missing(s, r->sensor, "'%s' has no channel '%s' any more, but '%s'", r->group,
                            r->name, f->other);
    else eg__sensing_missing(s, r->sensor, "'%s' of '%s' has no unit we know", r->name, r->group);
}

static void traffic_put(eg_sensors *s, pass *p) {
    double bytes = 0;
    unsigned channels = 0;
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].use == TRAFFIC && usable(&p->of[i])) bytes += p->of[i].sum, channels++;
    if (channels == 2)
        eg__sensing_put(s, EG_SENSOR_memory_bandwidth, "", bytes / p->seconds, EG_COUNTED,
                        "IOReport: AMC Stats, bytes read and written");
}

void eg__source_ioreport(eg_sensors *s) {
    pass p = {.seconds = 0};
    if (!(s->root ? eg__ioreport_recorded : eg__ioreport_live)(s, channel_add, &p, &p.seconds) ||
        !p.any || p.seconds <= 0)
        return;
    traffic_put(s, &p);
    for (unsigned i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        const found *f = &p.of[i];
        if (!usable(f)) {
            if (!r->backup) row_say_missing(s, r, f);
            continue;
        }
        if (r->backup && given_before(&p, i)) continue;
        if (r->use == ENERGY) rail_put(s, &p, i);
        if (r->use == HISTOGRAM)
            eg__sensing_put(s, EG_SENSOR_memory_bandwidth, "", f->sum, EG_MODELLED,
                            "IOReport: DCS BW, time in buckets of bandwidth");
        if (r->use == CORE && f->channels) {
            eg__sensing_put(s, EG_SENSOR_cpu_load, r->kind, 100 * f->active / f->channels,
                            EG_COUNTED, "IOReport: mean over the cores of its kind");
            if (f->weight > 0)
                eg__sensing_put(s, EG_SENSOR_cpu_clock, r->kind, f->clock / f->weight, EG_MODELLED,
                                "IOReport: clock while its cores worked");
        }
    }
}
