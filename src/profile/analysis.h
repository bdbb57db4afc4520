/* Analysis: findings, and the table of rules that make them. */
#ifndef EG__ANALYSIS_H
#define EG__ANALYSIS_H

#include "profile/profile.h"

enum { EG__FINDINGS = 24 };
typedef struct eg__findings {
    eg_finding list[EG__FINDINGS];
    size_t count;
} eg__findings;

struct eg_analysis {
    eg__memory *memory;
    char verdict[320];
    eg__findings kinds[3]; /* by eg_finding_kind */
};

/* What the rules look at; NaN and 0 where it is not known. */
typedef struct eg__facts {
    const eg_profile *profile;
    double seconds;                           /* a run */
    double attainable;                        /* the same if every operation were at its roof */
    double share[6];                          /* of the time, by what bounds it: */
    double gemm_share, copy_share, odd_share; /* odd: products whose sizes are no multiples of 16 */
    char odd_shape[48];
    unsigned threads, cores;
    uint64_t batch;
    bool compiled;
    double working_set; /* bytes of a run */
    double last_cache;  /* bytes; 0 = not told */
    double memory_available, peak_memory;
    double hit_rate; /* NaN = not known */
} eg__facts;
enum { EG__BY_COMPUTE, EG__BY_L1, EG__BY_L2, EG__BY_L3, EG__BY_DRAM, EG__BY_OVERHEAD };

typedef struct eg__rule {
    const char *name, *reason;
    /* False = it does not apply. Fills text, action and gain. */
    bool (*apply)(const eg__facts *facts, eg_finding *finding);
} eg__rule;
extern const eg__rule eg__rules[]; /* ends with a row of NULLs */

void eg__facts_of(const eg_profile *profile, eg__facts *out);

#endif
