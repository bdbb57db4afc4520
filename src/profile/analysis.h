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

/* A ratio: the figure of a run, its target, and the ceiling of the hardware. */
typedef struct eg__ratio_facts {
    eg_metric value[EG_RATIO_COUNT], limit[EG_RATIO_COUNT];
    eg_metric ceiling[EG_RATIO_COUNT]; /* unavailable = none is known */
    char exempt[EG_RATIO_COUNT][120];  /* why there is no target for this run; "" = there is */
} eg__ratio_facts;

/* The facts that rules use; NaN or 0 = unknown. */
typedef struct eg__facts {
    const eg_profile *profile;
    double seconds;      /* a run */
    double attainable;   /* the same if every operation were at its roof */
    double share[6];     /* of the time, by what bounds it: */
    double copy_share;   /* of copies and transpositions */
    double plain_share;  /* of elementwise steps and copies, which can be fused */
    double vector_share; /* of vector code: all but copies and overhead */
    double lane_share;   /* of steps with a sample per lane: threads divide vectors, not samples */
    double weights_wait; /* share of the time spent waiting for weights from L3 or DRAM */
    double values_wait;  /* share for all other traffic from there, at peak bandwidth */
    const char *numbers; /* format of most weights: "f32", "i8", "Q4_0" */
    double weight_bits, weight_bytes; /* of one weight; of all */
    const char *isa;
    unsigned lanes, lanes_possible; /* f32 that a vector holds: of the kernels, of the processor */
    unsigned threads, cores;
    uint64_t batch;
    bool compiled;
    double working_set;                                  /* bytes of a run */
    double own_cache;                                    /* bytes of L2 per core; 0 = unknown */
    double memory_available, memory_budget, peak_memory; /* bytes */
} eg__facts;
enum { EG__BY_COMPUTE, EG__BY_L1, EG__BY_L2, EG__BY_L3, EG__BY_DRAM, EG__BY_OVERHEAD };

/* An alternative way to run the same model, to be measured against the present one. */
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
    bool only_tried; /* uncertain: reported only if it was tried and helped */
} eg__rule;
extern const eg__rule eg__rules[];               /* ends with a row of NULLs */
const eg__rule *eg__rule_find(const char *name); /* NULL = there is none */
/* Fills in a finding except for the result of trying it; false = it does not apply. */
bool eg__rule_apply(const eg__rule *rule, const eg__facts *facts, eg_finding *out);

/* Whether at least half of the promised gain was reached; promises below 1 % do not count. */
bool eg__advice_kept(double promised, double measured);
/* ---- analysis.c: rewrites the verdict */
void eg__conclude(const eg__facts *facts, eg_analysis *analysis);
void eg__findings_sort(eg__findings *findings); /* sorted by measured gain, else by promised gain */

void eg__facts_of(const eg_profile *profile, eg__facts *out);
bool eg__is_bottleneck(const eg_profile_row *row); /* at least a twentieth of the time */
/* The share of weights (the right side) in the bytes of a product; 0 = not a product. */
double eg__row_weights(const eg_profile_row *row, double bits);

/* ---- actions.c: what to do, by what bounds an operation, and for a low ratio; never "" */
void eg__action_bound(const eg__facts *facts, const eg_profile_row *row, char out[200]);
void eg__action_ratio(const eg__facts *facts, eg_ratio_id id, char out[200]);

/* ---- ratios.c */
void eg__ratio_facts_of(const eg__facts *facts, eg__ratio_facts *out);
void eg__ratios_make(const eg__ratio_facts *facts, eg_ratio out[EG_RATIO_COUNT]);

#endif
