/* Analysis: findings, and the table of rules that make them. */
#ifndef EG__ANALYSIS_H
#define EG__ANALYSIS_H

#include "elegans/preset.h"
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
    eg_ratio ratios[EG_RATIO_COUNT];
};

/* What ratios are made of: the figures of a run, what is asked of it, and what the silicon can do. */
typedef struct eg__ratio_facts {
    eg_metric value[EG_RATIO_COUNT], limit[EG_RATIO_COUNT];
    eg_metric ceiling[EG_RATIO_COUNT]; /* unavailable = none is known */
} eg__ratio_facts;
/* ---- ratios.c */
void eg__ratio_facts_of(const eg_profile *profile, eg__ratio_facts *out);
void eg__ratios_make(const eg__ratio_facts *facts, eg_ratio out[EG_RATIO_COUNT]);

/* What the rules look at; NaN and 0 where it is not known. */
typedef struct eg__facts {
    const eg_profile *profile;
    double seconds;                           /* a run */
    double attainable;                        /* the same if every operation were at its roof */
    double share[6];                          /* of the time, by what bounds it: */
    double gemm_share, copy_share, odd_share; /* odd: products whose columns leave lanes empty */
    char odd_shape[48];
    unsigned odd_columns; /* of that shape */
    unsigned threads, cores;
    uint64_t batch;
    bool compiled;
    double working_set;                                  /* bytes of a run */
    double last_cache;                                   /* bytes; 0 = not told */
    double memory_available, memory_budget, peak_memory; /* bytes */
    double hit_rate;                                     /* NaN = not known */
} eg__facts;
enum { EG__BY_COMPUTE, EG__BY_L1, EG__BY_L2, EG__BY_L3, EG__BY_DRAM, EG__BY_OVERHEAD };

typedef struct eg__rule {
    const char *name, *reason;
    /* False = it does not apply. Fills text, action and gain. */
    bool (*apply)(const eg__facts *facts, eg_finding *finding);
} eg__rule;
extern const eg__rule eg__rules[]; /* ends with a row of NULLs */

/* The next number of columns that fills the vectors: a power of two, from 64 on a multiple of 64. */
unsigned eg__size_suggested(unsigned columns);

void eg__facts_of(const eg_profile *profile, eg__facts *out);

#endif
