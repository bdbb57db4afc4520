/* Requirements of a tier of chips: what they must have, what runs should reach, and whether they
 * do. */
#include "base/base.h"
#include "elegans/preset.h"
#include "profile/measure/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIERS = EG_CHIP_TIER_ULTRA + 1, NEEDS = EG_REQUIREMENT_MEMORY + 1 };

typedef struct need_row {
    const char *name, *unit;
    const char *small; /* another unit for it ... */
    double scale;      /* ... and what one of those is */
    double minimum[TIERS], target[TIERS];
} need_row;
static const need_row needs[NEEDS] = {
    {"compute", "TFLOP/s", "GFLOP/s", 1e-3, {2, 4, 8, 16}, {3, 6, 12, 24}},
    {"bandwidth", "GB/s", "GB/s", 1, {50, 150, 300, 600}, {70, 200, 400, 800}},
    {"memory",
     "MB",
     "bytes",
     1.0 / (1024 * 1024),
     {8192, 16384, 32768, 65536},
     {6144, 12288, 24576, 49152}},
};

eg_status eg_requirement_of(eg_chip_tier tier, eg_requirement_kind need, eg_requirement *out,
                            eg_error *error) {
    if ((unsigned)tier >= TIERS || (unsigned)need >= NEEDS || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no requirement %d of tier %d, or no output pointer for it", (int)need,
                        (int)tier);
    const need_row *row = &needs[need];
    *out =
        (eg_requirement){need, tier, row->name, row->unit, row->minimum[tier], row->target[tier]};
    return EG_OK;
}

eg_metric eg_chip_ceiling(const eg_chip_row *row, eg_requirement_kind need) {
    double value = NAN;
    if (need == EG_REQUIREMENT_COMPUTE)
        value = fmax(row->gpu_tflops, row->fast_core_gflops * row->fast_cores * 1e-3);
    else if (need == EG_REQUIREMENT_BANDWIDTH) value = row->memory_gbs;
    else if (need == EG_REQUIREMENT_MEMORY) value = row->memory_max_gb * 1024;
    const char *unit = (unsigned)need < NEEDS ? needs[need].unit : NULL;
    if (isfinite(value) && value > 0) return eg__metric(value, unit, EG_SPEC, "chip table");
    return eg__metric_unavailable(unit, "the chip table is blank");
}

/* ---- this machine */
static eg_metric host_ceiling(const eg_chip *chip, const eg_ceilings *ceilings,
                              eg_requirement_kind need) {
    const need_row *row = &needs[need];
    if (need == EG_REQUIREMENT_MEMORY && chip->memory_bytes)
        return eg__metric((double)chip->memory_bytes * row->scale, row->unit, EG_COUNTED, "system");
    if (need == EG_REQUIREMENT_MEMORY)
        return eg__metric_unavailable(row->unit, "the system does not tell its memory");
    if (chip->in_table) return eg_chip_ceiling(&chip->row, need);
    if (!ceilings) return eg__metric_unavailable(row->unit, "the ceilings were not measured");
    eg_metric m = need == EG_REQUIREMENT_COMPUTE ? ceilings->fma_all : ceilings->dram_all;
    if (need == EG_REQUIREMENT_COMPUTE) m.value *= row->scale;
    m.unit = row->unit;
    return m;
}

eg_status eg_requirement_host(const eg_chip *chip, const eg_ceilings *ceilings,
                              eg_requirement_kind need, eg_requirement *out, eg_metric *ceiling,
                              eg_error *error) {
    eg_preset preset;
    if (!chip || !out || (unsigned)need >= NEEDS)
        return eg__fail(error, EG_ERR_ARGUMENT, "no chip, no output pointer, or no requirement %d",
                        (int)need);
    const eg_metric most = host_ceiling(chip, ceilings, need);
    eg_status status = eg_preset_host(chip, ceilings, &preset, error);
    if (!status) status = eg_requirement_of(preset.tier, need, out, error);
    if (ceiling) *ceiling = most;
    if (status || chip->in_table) return status;
    if (most.provenance == EG_UNAVAILABLE)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "no requirement of %s: %s", needs[need].name,
                        most.source);
    out->minimum = most.value * (need == EG_REQUIREMENT_MEMORY ? 0.5 : 0.75);
    out->target = most.value * (need == EG_REQUIREMENT_MEMORY ? 0.75 : 0.9);
    return EG_OK;
}

const char *eg_check_name(eg_check check) {
    static const char *const names[] = {
#define EG_CHECK_TEXT(name, text) text,
        EG_CHECK_MAP(EG_CHECK_TEXT)
#undef EG_CHECK_TEXT
    };
    return (unsigned)check < sizeof names / sizeof *names ? names[check] : NULL;
}

/* In the unit of the requirement; NAN when it is unavailable. */
static eg_status value_of(const eg_metric *metric, const eg_requirement *r, double *out,
                          eg_error *error) {
    const need_row *row = &needs[r->need];
    *out = NAN;
    if (!metric || metric->provenance == EG_UNAVAILABLE) return EG_OK;
    const char *unit = metric->unit ? metric->unit : "";
    if (strcmp(unit, row->unit) == 0) *out = metric->value;
    else if (strcmp(unit, row->small) == 0) *out = metric->value * row->scale;
    else
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is no unit of %s: it is in %s", unit,
                        row->name, row->unit);
    return EG_OK;
}

static eg_check speed_check(double value, const eg_requirement *r, double ceiling) {
    if (value >= r->target) return EG_CHECK_MET;
    if (value >= r->minimum)
        return r->target > ceiling ? EG_CHECK_ABOVE_CEILING : EG_CHECK_BELOW_TARGET;
    return r->minimum > ceiling ? EG_CHECK_ABOVE_CEILING : EG_CHECK_BELOW_MINIMUM;
}

static void speed_text(double value, const eg_requirement *r, double ceiling,
                       eg_requirement_result *out) {
    const double asked = value < r->minimum ? r->minimum : r->target;
    int at = snprintf(out->text, sizeof out->text, "%.4g %s of %g", value, r->unit, asked);
    if (out->check == EG_CHECK_ABOVE_CEILING)
        snprintf(out->text + at, sizeof out->text - (size_t)at, ", but the chip has only %.4g",
                 ceiling);
}

static void memory_check(double value, const eg_requirement *r, double installed,
                         eg_requirement_result *out) {
    out->check = installed < r->minimum ? EG_CHECK_BELOW_MINIMUM
                 : value > r->target    ? EG_CHECK_OVER_TARGET
                                        : EG_CHECK_MET;
    if (out->check == EG_CHECK_BELOW_MINIMUM)
        snprintf(out->text, sizeof out->text, "%.0f %s installed of %g", installed, r->unit,
                 r->minimum);
    else
        snprintf(out->text, sizeof out->text, "%.0f %s taken, to stay below %g", value, r->unit,
                 r->target);
}

eg_status eg_requirement_check(const eg_metric *value, const eg_requirement *requirement,
                               const eg_metric *ceiling, eg_requirement_result *out,
                               eg_error *error) {
    if (!value || !requirement || !out || (unsigned)requirement->need >= NEEDS)
        return eg__fail(error, EG_ERR_ARGUMENT, "no value, no requirement or no output pointer");
    double have, most;
    eg_status status = value_of(value, requirement, &have, error);
    if (!status) status = value_of(ceiling, requirement, &most, error);
    if (status) return status;
    memset(out, 0, sizeof *out);
    if (isnan(most)) most = INFINITY;
    if (isnan(have))
        snprintf(out->text, sizeof out->text, "%s",
                 value->source ? value->source : "the value is not known");
    else if (have > most * 1.05)
        snprintf(out->text, sizeof out->text, "%.4g %s are above %.4g: one of both is wrong", have,
                 requirement->unit, most);
    else if (requirement->need == EG_REQUIREMENT_MEMORY) memory_check(have, requirement, most, out);
    else {
        out->check = speed_check(have, requirement, most);
        speed_text(have, requirement, most, out);
    }
    return EG_OK;
}

/* FLOP and bytes per second that one unit of a requirement is. */
static double per_second(eg_requirement_kind need) {
    return need == EG_REQUIREMENT_COMPUTE ? 1e12 : 1e9;
}

eg_status eg_requirement_check_run(const eg_metric *value, const eg_requirement *requirement,
                                   const eg_metric *ceiling, double amount, double overhead,
                                   eg_requirement_result *out, eg_error *error) {
    eg_status status = eg_requirement_check(value, requirement, ceiling, out, error);
    if (status || requirement->need == EG_REQUIREMENT_MEMORY || out->check == EG_CHECK_UNKNOWN ||
        out->check == EG_CHECK_MET)
        return status;
    const double least = amount / (requirement->minimum * per_second(requirement->need));
    if (amount > 0 && !(least < overhead)) return EG_OK;
    char work[32], starts[32];
    out->check = EG_CHECK_DOES_NOT_APPLY;
    if (!(amount > 0))
        snprintf(out->text, sizeof out->text, "%s",
                 requirement->need == EG_REQUIREMENT_BANDWIDTH ? "caches serve it"
                                                               : "it computes nothing");
    else
        snprintf(out->text, sizeof out->text,
                 "so small a model: %s of work at %.4g %s, and starting its steps takes %s",
                 eg__seconds_brief(work, least), requirement->minimum, requirement->unit,
                 eg__seconds_brief(starts, overhead));
    return EG_OK;
}
