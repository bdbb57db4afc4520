/* Counters of the system around a piece of work. */
#ifndef EG__HARDWARE_H
#define EG__HARDWARE_H

#include "elegans/profile.h"
#include "base/base.h"

enum { EG__COUNTERS = 4, EG__COUNTED_THREADS = 512 };

/* ---- thread_counter_linux.c: a perf event on every thread of this process */
typedef struct eg__thread_counter {
    unsigned count;                 /* threads; 0 = refused */
    int reason;                     /* errno */
    int files[EG__COUNTED_THREADS]; /* a descriptor for each */
} eg__thread_counter;
/* `type` and `config` are the kernel's (linux/perf_event.h). False: refused, the reason is there. */
bool eg__thread_counter_open(eg__thread_counter *counter, uint32_t type, uint64_t config);
void eg__thread_counter_start(eg__thread_counter *counter);
/* The sum over all threads; *whole is false if it was scaled up because events were multiplexed.
 * Returns false if nothing was counted. Closes the counter either way. */
bool eg__thread_counter_stop(eg__thread_counter *counter, double *value, bool *whole);

typedef struct eg__hardware_watch {
    eg__thread_counter counters[EG__COUNTERS];
    uint64_t start_ns;          /* where the system counts energy per process */
    double cpu_seconds, energy; /* at the start; NaN = no source */
    uint64_t switches, faults;
    double process_cycles,
        process_instructions; /* where the system counts per process; NaN = not */
} eg__hardware_watch;

/* `root`: a folder with the files of another machine; NULL = this one. */
void eg__hardware_begin(eg__hardware_watch *watch, const char *root);
/* Counts since the start; sources are static texts. Energy and power are those of this process, where the system counts
 * them: energy.h has those of rails. */
void eg__hardware_end(eg__hardware_watch *watch, const char *root, eg_hardware *out);

/* ---- usage.c: seconds of all threads, context switches, page faults of this process so far */
void eg__usage_read(double *cpu, uint64_t *switches, uint64_t *faults);

#endif
