/* What sources of readings share: where readings go, and counters that become rates. */
#ifndef EG__SENSING_H
#define EG__SENSING_H

#include "chip/detect.h"
#include "elegans/sensors.h"
#include "memory/memory.h"

/* A counter as it was read last, known by a hash of its name. */
typedef struct eg__counter {
    uint64_t key;
    double value;
    uint64_t read_ns;
} eg__counter;

struct eg_sensors {
    eg__memory *memory;
    const eg_chip *chip;
    char *root; /* NULL = this machine */
    eg_reading *readings;
    size_t count, room;
    eg__counter *counters; /* in the order they were first seen */
    size_t counter_count, counter_room;
    uint64_t sampled_ns; /* the last sample; 0 = none */
    bool short_of_memory;
    void *system; /* what the sources of this system keep open; NULL = nothing */
};

/* ---- for sources. None of these fails: what does not fit is said by the sample. */
void eg__sensing_put(eg_sensors *s, eg_sensor sensor, const char *label, double value,
                     eg_provenance provenance, const char *source);
/* Why a sensor has no reading; left out if some source has one. */
void eg__sensing_missing(eg_sensors *s, eg_sensor sensor, const char *why, ...) EG_PRINTF(3, 4);
/* What a counter grew by since it was read last, and the seconds between; false the first time and after a
 * reset. `wrap`: it continues at 0 after this value; 0 = it never does. */
bool eg__sensing_delta(eg_sensors *s, const char *source, const char *name, double value,
                       double wrap, double *delta, double *seconds);
/* The energy of a rail as a counter of joules: its power, and its energy since the sensors were opened. */
void eg__sensing_energy(eg_sensors *s, const char *rail, double joules, double wrap,
                        const char *source);

/* The same from what was used within so many seconds. */
void eg__sensing_energy_add(eg_sensors *s, const char *rail, double joules, double seconds,
                            const char *source);

/* A number, perhaps negative, alone in a file. */
bool eg__sensing_number(const eg_sensors *s, double *out, const char *path, ...) EG_PRINTF(3, 4);
bool eg__sensing_text(const eg_sensors *s, char *out, size_t size, const char *path, ...)
    EG_PRINTF(4, 5);
/* Entries of a folder whose names begin with `prefix`, in natural order (cpu2 before cpu10). Returns how many. */
typedef void eg__folder_function(eg_sensors *s, const char *name, void *user);
size_t eg__folder_each(eg_sensors *s, const char *folder, const char *prefix,
                       eg__folder_function *function, void *user);

/* ---- the sources, in order: SOURCE(name, what it reads) */
typedef void eg__source(eg_sensors *s);
#define SOURCE(name, text) eg__source eg__source_##name;
#include "sensors/sources.def"
/* What the sources of this system keep open between samples. */
void eg__sensors_system_open(eg_sensors *s);
void eg__sensors_system_close(eg_sensors *s);

#endif
