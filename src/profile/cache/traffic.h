/* Traffic of a run between the levels of memory, and which level it waits for. */
#ifndef EG__TRAFFIC_H
#define EG__TRAFFIC_H

#include "elegans/profile.h"
#include "profile/project/project.h"

/* Ceilings are nearly the best of many bursts, and times are medians, so a rate this much above a
 * ceiling is not noise: the modelled traffic or the ceiling is wrong. */
#define EG__BEYOND 1.1

typedef struct eg__traffic {
    double (*steps)[EG__LEVELS]; /* bytes of one run by step of the program; NULL = not known */
    double run[EG__LEVELS];      /* of all steps together */
    eg_provenance provenance;    /* of the DRAM's bytes; EG_UNAVAILABLE: */
    const char *source;          /* ... why, else from where; static */
    bool has_cache;              /* it was simulated: */
    eg_cache_result cache;
} eg__traffic;

struct eg_profile;
/* After the timed runs. Uses processor counters if available, else simulated caches, else the
 * working set; the source says which. Callbacks have no traffic. */
eg_status eg__traffic_make(struct eg_profile *profile, eg_error *error);

/* Bytes that a run touches: weights as they are multiplied, values, states, what is bound. */
double eg__working_set(const eg_program *program);
/* Bytes that an instance uses but does not own: inputs (including weights that stay in a file) and
 * outputs. */
double eg__bound_bytes(const eg_program *program);
/* GB/s of a level for the threads of the profile, as measured; a level is never slower than one farther
 * away. NaN = not known. */
double eg__level_ceiling(const struct eg_profile *profile, int level);
uint64_t eg__profile_last_cache(const struct eg_profile *profile); /* as eg__last_cache */
const char *eg__level_name(int level);                             /* "L1", "L2", "L3", "DRAM" */

/* What work of `seconds` waits for: whichever takes longest of `compute` (seconds at the peak) and
 * each level's bytes at its ceiling; ties go to the farther level. Candidates that would take
 * longer than the work itself are wrong and left out. *least is the time of what was found; NaN:
 * "unknown". */
const char *eg__bound_find(const struct eg_profile *profile, double compute,
                           const double bytes[EG__LEVELS], double seconds, double *least);
/* The peak FLOP/s of a kernel relative to the FMA peak: more than 1 for int8 products. */
double eg__peak_times(const struct eg_profile *profile, uint32_t traits);

#endif
