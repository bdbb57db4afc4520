/* Events of runs: begin and end of every step, in a ring buffer per thread. Recording neither
 * allocates nor locks; a run without a record pays one comparison per run and per scan. */
#ifndef EG__RECORD_H
#define EG__RECORD_H

#include "base/ticks.h"

enum { EG__RECORD_EVERY = 4096 };

/* Two fit into a cache line; 48 bits count a run every microsecond for eight years. */
typedef struct eg__event {
    uint64_t begin, end; /* ticks */
    uint32_t step;       /* of the program */
    uint32_t time;       /* of the scan that it is part of */
    /* How many threads share the step, 1 = this one alone; inside a scan, for how many time steps the event stands:
     * its own and those after it that were not recorded. */
    uint64_t parts : 15;
    uint64_t first : 1; /* of the time steps of a block of samples */
    uint64_t run : 48;  /* counted since the record was made */
} eg__event;

typedef struct eg__ring {
    eg__event *events;
    uint64_t room;    /* a power of two */
    uint64_t count;   /* written so far; the last `room` of them are kept */
    uint64_t rest[5]; /* padding to a cache line */
} eg__ring;

typedef struct eg__record {
    eg__ring *rings; /* one per thread; thread 0 also records the steps outside of scans */
    unsigned threads;
    uint64_t run;
    /* The first `skip` runs are not recorded. Then cycles of `wait` + `warmup` runs that are not
     * recorded and `active` runs that are; recording ends after `repeat` cycles (0 = never). active
     * 0 = all runs. */
    uint32_t skip, wait, warmup, active, repeat;
    uint32_t every;              /* of time steps inside a scan; 0 = by what events cost */
    double event_ticks;          /* what an event costs */
    uint64_t began, ended;       /* ticks: begin of the first recorded run, end of the last */
    uint64_t began_ns, ended_ns; /* the same in nanoseconds of the system clock */
} eg__record;

static inline void eg__ring_add(eg__ring *ring, uint64_t begin, uint64_t end, uint32_t step,
                                uint32_t time, unsigned parts, uint64_t run) {
    ring->events[ring->count++ & (ring->room - 1)] =
        (eg__event){begin, end, step, time, parts & 0x7fff, false, run & 0xffffffffffff};
}

static inline eg__event *eg__ring_last(eg__ring *ring) {
    return &ring->events[(ring->count - 1) & (ring->room - 1)];
}

/* Counts a run and returns whether it is recorded. */
static inline bool eg__record_wants(eg__record *record) {
    const uint64_t run = record->run++;
    const uint64_t turn = (uint64_t)record->wait + record->warmup + record->active;
    if (run < record->skip) return false;
    if (!record->active) return true;
    const uint64_t at = run - record->skip;
    return (!record->repeat || at / turn < record->repeat) &&
           at % turn >= (uint64_t)record->wait + record->warmup;
}

#endif
