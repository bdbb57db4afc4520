/* The best of many short bursts: what the hardware can do on a shared machine. */
#ifndef EG__BURST_H
#define EG__BURST_H

#include "base/base.h"

typedef void (*eg__burst_function)(void *job);

enum { EG__BURST_SAMPLES = 4096 };
typedef struct eg__burst_times {
    double best, quarter,
        median; /* seconds of one call; a quarter of all take less than `quarter` */
    uint64_t calls;
} eg__burst_times;

/* Calls function(job) for about `seconds`, at least three times, in bursts of about 20 us: long
 * enough that reading the clock does not count, short enough to fall between two interruptions. */
eg__burst_times eg__burst_measure(eg__burst_function function, void *job, double seconds);
/* The same for a given number of calls, one burst each. */
eg__burst_times eg__burst_repeat(eg__burst_function function, void *job, uint64_t calls);
/* The same, with before(job) ahead of each call and outside of its time. */
eg__burst_times eg__burst_repeat_after(eg__burst_function before, eg__burst_function function,
                                       void *job, uint64_t calls);

#endif
