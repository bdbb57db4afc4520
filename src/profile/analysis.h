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
    char verdict[512];
    eg__findings kinds[EG_TRIED + 1]; /* by eg_finding_kind */
    eg_ratio ratios[EG_RATIO_COUNT];
};

/* What ratios are made of: the figures of a run, what is asked of it, and what the silicon can do. */
typedef struct eg__ratio_facts {
    eg_metric value[EG_RATIO_COUNT], limit[EG_RATIO_COUNT];
    eg_metric ceiling[EG_RATIO_COUNT]; /* unavailable = none is known */
    char exempt[EG_RATIO_COUNT][120];  /* why nothing is asked of this run; "" = it is */
} eg__ratio_facts;

/* What the rules look at; NaN and 0 where it is not known. */
typedef struct eg__facts {
    const eg_profile *profile;
    double seconds;      /* a run */
    double attainable;   /* the same if every operation were at its roof */
    double share[6];     /* of the time, by what bounds it: */
    double copy_share;   /* of copies and transpositions */
    double plain_share;  /* of elementwise steps and copies, which can be fused */
    double vector_share; /* of what vectors compute: all but copies and overhead */
    double lane_share;   /* of steps with a sample per lane: vectors, not samples, divide */
    double weights_wait; /* share of the time that waits for weights from L3 or DRAM */
    double values_wait;  /* share that all else takes from there, at their best */
    const char *numbers; /* what most weights are: "f32", "i8", "Q4_0" */
    double weight_bits, weight_bytes; /* of one weight; of all */
    const char *isa;
    unsigned lanes, lanes_possible; /* f32 that a vector holds: of the kernels, of the processor */
    unsigned threads, cores;
    uint64_t batch;
    bool compiled;
    double working_set;                                  /* bytes of a run */
    double own_cache;                                    /* bytes of L2 per core; 0 = not told */
    double memory_available, memory_budget, peak_memory; /* bytes */
} eg__facts;
enum { EG__BY_COMPUTE, EG__BY_L1, EG__BY_L2, EG__BY_L3, EG__BY_DRAM, EG__BY_OVERHEAD };

/* A way to run the same model, to be measured beside the present one. */
typedef struct eg__change {
    uint64_t batch;
    unsigned threads;
    bool compiled, best_isa;
    eg_type type; /* of the weights; EG_F32 = as they are */
} eg__change;

typedef struct eg__rule {
    const char *name, *reason;
    bool (*holds)(const eg__facts *facts, char text[200]); /* and what was found */
    double (*promise)(const eg__facts *facts); /* share of the time of a sample; NULL = none */
    const char *action;                        /* what to do; NULL = act says it */
    void (*act)(const eg__facts *facts, char action[200]);  /* never "" */
    void (*change)(const eg__facts *facts, eg__change *to); /* NULL = cannot be tried */
    bool only_tried; /* it depends: said only where it was tried and helped */
} eg__rule;
extern const eg__rule eg__rules[];               /* ends with a row of NULLs */
const eg__rule *eg__rule_find(const char *name); /* NULL = there is none */
/* Everything of a finding but what trying finds; false = it does not apply. */
bool eg__rule_apply(const eg__rule *rule, const eg__facts *facts, eg_finding *out);

/* At least half of what was promised; a promise of less than 1 % is none. */
bool eg__advice_kept(double promised, double measured);
/* ---- analysis.c: the verdict, anew */
void eg__conclude(const eg__facts *facts, eg_analysis *analysis);
void eg__findings_sort(eg__findings *findings); /* by what was measured, else by what is promised */

void eg__facts_of(const eg_profile *profile, eg__facts *out);
bool eg__is_bottleneck(const eg_profile_row *row); /* at least a twentieth of the time */
/* Of the bytes of a product, the share of its weights: its right side. 0 = it is none. */
double eg__row_weights(const eg_profile_row *row, double bits);

/* ---- actions.c: what to do, by what bounds an operation, and where a ratio fires; never "" */
void eg__action_bound(const eg__facts *facts, const eg_profile_row *row, char out[200]);
void eg__action_ratio(const eg__facts *facts, eg_ratio_id id, char out[200]);

/* ---- ratios.c */
void eg__ratio_facts_of(const eg__facts *facts, eg__ratio_facts *out);
void eg__ratios_make(const eg__ratio_facts *facts, eg_ratio out[EG_RATIO_COUNT]);

#endif
