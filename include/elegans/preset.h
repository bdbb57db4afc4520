/* Presets: how to run on a chip, and what a run there should reach.
 * Experimental. */
#ifndef ELEGANS_PRESET_H
#define ELEGANS_PRESET_H

#include "elegans/chip.h"
#include "elegans/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tiers: the four sizes that chips come in, as the M1 family has them */
#define EG_CHIP_TIER_MAP(X)      \
    X(EG_CHIP_TIER_BASE, "base") \
    X(EG_CHIP_TIER_PRO, "pro")   \
    X(EG_CHIP_TIER_MAX, "max")   \
    X(EG_CHIP_TIER_ULTRA, "ultra")
typedef enum eg_chip_tier {
#define EG_CHIP_TIER_ENUM(name, text) name,
    EG_CHIP_TIER_MAP(EG_CHIP_TIER_ENUM)
#undef EG_CHIP_TIER_ENUM
} eg_chip_tier;
EG_API const char *eg_chip_tier_name(eg_chip_tier tier); /* "base"; static, NULL past the last */

/* ---- presets */
typedef struct eg_preset {
    char chip[96]; /* "M1 Max" */
    eg_chip_tier tier;
    eg_provenance provenance; /* EG_SPEC: stands in the table; EG_MODELLED: derived by `rule` */
    const char *rule;         /* static */
    unsigned batch, batch_low, batch_high; /* recommended, and its sensible range */
    uint64_t memory_budget;                /* bytes; see eg_context_options */
    unsigned backbone_units, backbone_layers;
    double dropout;
    int neural_engine;    /* 1: there is one, worth trying */
    int compiled;         /* 1: models are compiled before they run */
    eg_metric power;      /* W, CPU and GPU both busy; EG_MODELLED: an assumption,
                           * EG_TABLE: measured by others; or unavailable and why */
    char power_note[160]; /* its source; "" = none */
} eg_preset;

/* The presets of the four M1 chips are a table. Every other chip is of the highest tier whose minimum of compute,
 * bandwidth and memory it reaches (eg_requirement_of), the lowest when it reaches none. Its batch is that
 * of the tier times its bandwidth over that of the tier's M1, as a power of two within the range of the
 * tier; its memory budget is half of its memory; the rest is the tier's. So a better chip never gets a smaller
 * preset. */
EG_API eg_status eg_preset_of(const eg_chip_row *row, eg_preset *out, eg_error *error);
/* By any name that eg_chip_table_find knows. */
EG_API eg_status eg_preset_find(const char *chip, eg_preset *out, eg_error *error);
/* This machine: by its row when it has one, else by its measured ceilings; with neither (`ceilings` may be
 * NULL) it is of the lowest tier. The memory is what is installed, not what the chip could have. */
EG_API eg_status eg_preset_host(const eg_chip *chip, const eg_ceilings *ceilings, eg_preset *out,
                                eg_error *error);

/* ---- requirements: what a chip of a tier must have, and what a run should reach */
typedef enum eg_requirement_kind {
    EG_REQUIREMENT_COMPUTE,   /* TFLOP/s */
    EG_REQUIREMENT_BANDWIDTH, /* GB/s */
    EG_REQUIREMENT_MEMORY     /* MB of 2^20 bytes */
} eg_requirement_kind;
typedef struct eg_requirement {
    eg_requirement_kind need;
    eg_chip_tier tier;
    const char *name, *unit; /* static */
    /* Compute and bandwidth: what a run must reach, and what it should reach. Memory: what must be
     * installed, and what a run should stay below. */
    double minimum, target;
} eg_requirement;
/* EG_ERR_ARGUMENT: there is no such tier or need. */
EG_API eg_status eg_requirement_of(eg_chip_tier tier, eg_requirement_kind need, eg_requirement *out,
                                   eg_error *error);

/* The physical ceiling from the chip table: f32 of the GPU or of the fast cores, whichever is
 * more; memory bandwidth; memory. Unavailable where the table is blank. */
EG_API eg_metric eg_chip_ceiling(const eg_chip_row *row, eg_requirement_kind need);

/* The requirement for runs on this machine, and (`ceiling` may be NULL) the physical ceiling. A chip of the table has
 * the requirements of its tier. On other machines, compute and bandwidth are fractions of the measured ceilings: the
 * minimum is three quarters, as the tiers ask of their M1 (0.73 to 0.76), the target nine tenths; memory: the minimum
 * is half of what is installed, the target three quarters. EG_ERR_UNSUPPORTED names the missing measurement;
 * `ceilings` may be NULL. */
EG_API eg_status eg_requirement_host(const eg_chip *chip, const eg_ceilings *ceilings,
                                     eg_requirement_kind need, eg_requirement *out,
                                     eg_metric *ceiling, eg_error *error);

#define EG_CHECK_MAP(X)                                     \
    X(EG_CHECK_UNKNOWN, "unknown")                          \
    X(EG_CHECK_MET, "met")                                  \
    X(EG_CHECK_BELOW_TARGET, "below target")                \
    X(EG_CHECK_BELOW_MINIMUM, "below minimum")              \
    X(EG_CHECK_ABOVE_CEILING, "above the physical ceiling") \
    X(EG_CHECK_OVER_TARGET, "more than it should take")     \
    X(EG_CHECK_DOES_NOT_APPLY, "does not apply")
typedef enum eg_check {
#define EG_CHECK_ENUM(name, text) name,
    EG_CHECK_MAP(EG_CHECK_ENUM)
#undef EG_CHECK_ENUM
} eg_check;
EG_API const char *eg_check_name(eg_check check); /* "met"; static, NULL past the last */

typedef struct eg_requirement_result {
    eg_check check;
    char text[192]; /* the figures behind it: "2.1 TFLOP/s of 3, but the chip has 2.62" */
} eg_requirement_result;
/* Compute and bandwidth: `value` is what a run reached, `ceiling` what the chip can do. "above the physical
 * ceiling": no run could reach the target, or even the minimum. Memory: `value` is what a run took,
 * `ceiling` what is installed. The result is "unknown" for an unavailable value, and for one that exceeds its ceiling
 * by more than 5 %; an unavailable ceiling is ignored. Units may also be GFLOP/s and bytes; any other is
 * EG_ERR_ARGUMENT. `ceiling` may be NULL. */
EG_API eg_status eg_requirement_check(const eg_metric *value, const eg_requirement *requirement,
                                      const eg_metric *ceiling, eg_requirement_result *out,
                                      eg_error *error);

/* The same for compute and bandwidth of a run that may be too small to reach them: `amount` is what it computes or
 * moves (FLOPs, bytes), `overhead` the seconds that starting its steps takes (of a projection: `start`, which does not
 * depend on the batch, so that a requirement that applies to a batch applies to larger ones). EG_CHECK_DOES_NOT_APPLY:
 * at the minimum rate the amount would take less time than the overhead, so that no run of this model can reach it; or
 * the amount is 0. */
EG_API eg_status eg_requirement_check_run(const eg_metric *value, const eg_requirement *requirement,
                                          const eg_metric *ceiling, double amount, double overhead,
                                          eg_requirement_result *out, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
