/* Counters of the system around a piece of work. */
#ifndef EG__HARDWARE_H
#define EG__HARDWARE_H

#include "elegans/profile.h"
#include "base/base.h"

enum { EG__COUNTERS = 4 };
typedef struct eg__hardware_watch {
    int files[EG__COUNTERS];   /* descriptors of counters; -1 = refused */
    int reasons[EG__COUNTERS]; /* errno */
    uint64_t counted[EG__COUNTERS];
    uint64_t start_ns;
    double cpu_seconds, energy; /* at the start; NaN = no source */
    uint64_t switches, faults;
    char energy_source[128];
    double process_cycles,
        process_instructions; /* where the system counts per process; NaN = not */
} eg__hardware_watch;

/* `root` stands before paths of the system; "" outside of tests. */
void eg__hardware_begin(eg__hardware_watch *watch, const char *root);
/* Of all that ran since; sources are static texts or live as long as the watch. */
void eg__hardware_end(eg__hardware_watch *watch, const char *root, eg_hardware *out);

/* ---- usage.c: seconds of all threads, context switches, page faults of this process so far */
void eg__usage_read(double *cpu, uint64_t *switches, uint64_t *faults);

/* The largest resident set of this process so far, in bytes. */
eg_metric eg__peak_resident(void);

#endif
