/* A publisher, as its parts see it. */
#ifndef EG__PUBLISHER_H
#define EG__PUBLISHER_H

#include "memory/memory.h"
#include "publish/page.h"

struct eg_publisher {
    eg__memory *memory;
    eg__page *page;
    unsigned forks;      /* when it was opened; another number = it is a copy in a child */
    uint64_t steps;      /* as in the page */
    uint64_t left;       /* steps until one is timed; 0 = this one is */
    uint64_t every;      /* one in so many */
    uint64_t begun_ns;   /* of the step that is timed */
    uint64_t timed_ns;   /* end of the last step that was timed; 0 = none */
    uint64_t timed_step; /* and its number */
    uint64_t told_ns;    /* when the memory was published last */
    uint64_t random;     /* which step it is */
    double bandwidth;    /* where no level is known; NaN = unknown */
    eg_memory_level levels[EG_PUBLISHER_LEVELS];
    eg__page_training training;
    char path[EG__PUBLISH_PATH + 64];
};

static inline bool eg__publisher_ours(const eg_publisher *p) {
    return p && p->forks == atomic_load_explicit(&eg__forks, memory_order_relaxed);
}
/* B/s that steps of so many bytes are held against; NaN = unknown. */
double eg__publisher_bandwidth(const eg_publisher *p, double step_bytes);
/* The memory of the context, as it is now. */
void eg__publisher_memory(eg_publisher *p);

#endif
