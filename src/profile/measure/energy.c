/* The energy of a rail around a piece of work, from the sensors of the machine. */
#include "profile/measure/energy.h"
#include "base/base.h"

#include <stdio.h>
#include <string.h>

/* Rails by how much else they contain: packages, the whole platform, the cores of a Mac, the first of a board. The DRAM and
 * the cores of a package are listed beside it with its name and theirs, and are not added again. */
static const char *const kinds[] = {"package", "psys", "CPU", ""};

static bool is_of(const eg_reading *r, const char *kind) {
    return r->sensor == EG_SENSOR_energy && r->metric.provenance == EG_MEASURED &&
           strncmp(r->label, kind, strlen(kind)) == 0 && (!kind[0] || !strchr(r->label, ' '));
}

/* The sum over the rails of a kind; 0 rails = there is none. */
static size_t add_up(const eg_sensor_sample *sample, const char *kind, double *joules,
                     char source[EG__ENERGY_SOURCE]) {
    size_t count = 0;
    *joules = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const eg_reading *r = &sample->readings[i];
        if (!is_of(r, kind) || (count && !kind[0])) continue;
        *joules += r->metric.value;
        if (!count++) snprintf(source, EG__ENERGY_SOURCE, "%s: %s", r->label, r->source);
    }
    return count;
}

eg_status eg__energy_begin(eg__energy *e, eg_context *context, const char *root, eg_error *error) {
    const eg_sensors_options options = {.size = sizeof options, .root = root};
    eg_sensor_sample sample = {.size = sizeof sample};
    eg_status status = eg_sensors_open(context, &options, &e->sensors, error);
    if (!status) status = eg_sensors_read(e->sensors, &sample, error);
    if (status) return status;
    e->rails = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !e->rails; i++) {
        e->count = add_up(&sample, kinds[i], &e->joules, e->source);
        if (e->count) e->rails = kinds[i];
    }
    if (!e->rails) {
        const eg_reading *missing = eg_sensor_find(&sample, EG_SENSOR_energy, "");
        snprintf(e->source, sizeof e->source, "%s",
                 missing ? missing->source : "no source of this system reports it");
        eg__energy_close(e);
    }
    e->start_ns = eg_clock_ns();
    return EG_OK;
}

static void end_without(const char *why, eg_metric *joules, eg_metric *watts) {
    *joules = eg__metric_unavailable("J", why);
    *watts = eg__metric_unavailable("W", why);
}

eg_status eg__energy_end(eg__energy *e, eg_metric *joules, eg_metric *watts, eg_error *error) {
    eg_sensor_sample sample = {.size = sizeof sample};
    double now = 0;
    end_without(e->source, joules, watts);
    if (!e->rails) return EG_OK;
    const eg_status status = eg_sensors_read(e->sensors, &sample, error);
    const double seconds = (double)(eg_clock_ns() - e->start_ns) * 1e-9;
    const size_t rails = status ? 0 : add_up(&sample, e->rails, &now, e->source);
    const double used = now - e->joules;
    eg__energy_close(e);
    if (status) return status;
    if (rails != e->count) end_without("the energy counter was reset", joules, watts);
    else if (!(used > 0)) /* RAPL counts once a millisecond, boards more rarely */
        end_without("the energy counter did not advance: the runs are too short for it", joules,
                    watts);
    else {
        *joules = eg__metric(used, "J", EG_MEASURED, e->source);
        *watts = eg__metric(used / seconds, "W", EG_MEASURED, e->source);
    }
    return EG_OK;
}

void eg__energy_close(eg__energy *e) {
    eg_sensors_close(e->sensors);
    e->sensors = NULL;
}
