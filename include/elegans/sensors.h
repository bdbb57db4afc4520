/* What the machine is doing: load, clocks, memory, temperatures, power, battery, GPU, as the system reports it.
 * Experimental. */
#ifndef ELEGANS_SENSORS_H
#define ELEGANS_SENSORS_H

#include "elegans/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every kind of figure: name, unit, what it is. New rows go to the end. */
#define EG_SENSOR_MAP(X)                                                                         \
    X(cpu_load, "%", "share of the time that a core worked")                                     \
    X(cpu_steal, "%", "share of the time that the hypervisor gave to others")                    \
    X(cpu_clock, "Hz", "of a core or a kind of cores")                                           \
    X(cpu_pressure, "%", "share of the last 10 s in which some task waited for a core")          \
    X(memory_total, "B", "installed, or the limit of the container")                             \
    X(memory_used, "B", "not available to programs without swapping")                            \
    X(memory_pressure, "%", "share of the last 10 s in which some task waited for memory")       \
    X(memory_level, "level", "pressure as the system calls it: 1 normal, 2 warning, 4 critical") \
    X(swap_used, "B", "memory that was moved to disk")                                           \
    X(memory_bandwidth, "B/s", "read and written between the chip and its DRAM")                 \
    X(temperature, "C", "of a sensor")                                                           \
    X(thermal_level, "level", "0 nominal, 1 fair, 2 serious, 3 critical")                        \
    X(throttling, "events/s", "how often the clock was lowered because of heat")                 \
    X(power, "W", "of a rail: mean since the sample before, or as its sensor reports it")        \
    X(energy, "J", "of a rail, since the sensors were opened")                                   \
    X(battery, "%", "charge")                                                                    \
    X(on_mains, "yes/no", "1: fed by the mains, 0: by a battery")                                \
    X(gpu_load, "%", "share of the time that the GPU worked")                                    \
    X(gpu_clock, "Hz", "while it worked")                                                        \
    X(gpu_memory, "B", "in use by the GPU")                                                      \
    X(ane_load, "%", "of the Neural Engine")

typedef enum eg_sensor {
#define EG_SENSOR_ENUM(name, unit, text) EG_SENSOR_##name,
    EG_SENSOR_MAP(EG_SENSOR_ENUM)
#undef EG_SENSOR_ENUM
        EG_SENSOR_COUNT
} eg_sensor;
EG_API const char *
eg_sensor_name(eg_sensor sensor); /* "cpu_load"; NULL for an unknown one; static */
EG_API const char *eg_sensor_unit(eg_sensor sensor); /* "%" */
EG_API const char *eg_sensor_text(eg_sensor sensor); /* "share of the time ..." */

/* One figure. A sensor that the machine lacks has one reading that is unavailable, with the reason. */
enum { EG_READING_LABEL = 48, EG_READING_SOURCE = 112 };
typedef struct eg_reading {
    eg_sensor sensor;
    char label[EG_READING_LABEL];   /* "cpu3", "Performance", "package-0"; "" = the whole machine */
    eg_metric metric;               /* its source is the text below */
    char source[EG_READING_SOURCE]; /* where the figure comes from, or why there is none */
} eg_reading;

typedef struct eg_sensors eg_sensors; /* opaque; one thread at a time */
typedef struct eg_sensors_options {   /* all zero = this machine */
    size_t size;      /* sizeof(eg_sensors_options); 0 = the fields of version 0.1 */
    const char *root; /* a folder with the files of another machine; NULL = this one */
} eg_sensors_options;
typedef struct eg_sensor_sample {
    size_t size;     /* sizeof(eg_sensor_sample); 0 = the fields of version 0.1 */
    int64_t time_ns; /* since 1970 */
    double elapsed;  /* seconds since the sample before; rates are over this time */
    size_t count;
    const eg_reading *readings; /* in the order of eg_sensor; valid until the next sample */
} eg_sensor_sample;

/* Opens all sources and reads every counter once, so that the first sample has rates. `options` may be NULL.
 * You own *out; the context must outlive it. */
EG_API eg_status eg_sensors_open(eg_context *context, const eg_sensors_options *options,
                                 eg_sensors **out, eg_error *error);
EG_API void eg_sensors_close(eg_sensors *sensors); /* NULL is fine */
/* Reads every source; takes a millisecond or so. Counters that went back (a reset) give no rate in that
 * sample. EG_ERR_MEMORY leaves the sensors as they were. */
EG_API eg_status eg_sensors_read(eg_sensors *sensors, eg_sensor_sample *out, eg_error *error);
/* The reading of a sample with this label; NULL = none. */
EG_API const eg_reading *eg_sensor_find(const eg_sensor_sample *sample, eg_sensor sensor,
                                        const char *label);

#ifdef __cplusplus
}
#endif
#endif
