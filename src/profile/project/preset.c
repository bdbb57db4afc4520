/* Presets of the M1 family, and by rule of every other chip. */
#include "base/base.h"
#include "elegans/preset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TIERS = EG_CHIP_TIER_ULTRA + 1 };
static const double GIB = 1024.0 * 1024 * 1024;

typedef struct tier_row {
    const char *chip;
    unsigned batch, batch_low, batch_high;
    double memory_gib;
    unsigned backbone_units;
    double gbs; /* of that chip: batches of others are scaled by it */
} tier_row;
static const tier_row tiers[TIERS] = {
    {"M1", 32, 32, 64, 8, 32, 68.3},
    {"M1 Pro", 64, 64, 128, 16, 64, 204.8},
    {"M1 Max", 128, 64, 128, 32, 64, 409.6},
    {"M1 Ultra", 256, 128, 256, 64, 128, 819.2},
};

const char *eg_chip_tier_name(eg_chip_tier tier) {
    static const char *const names[] = {
#define EG_TIER_TEXT(name, text) text,
        EG_CHIP_TIER_MAP(EG_TIER_TEXT)
#undef EG_TIER_TEXT
    };
    return (unsigned)tier < TIERS ? names[tier] : NULL;
}

/* What a chip is judged by; NAN = unknown. */
typedef struct figures {
    eg_metric compute, bandwidth;
    double memory_bytes;
} figures;

static void tier_fill(eg_chip_tier tier, eg_preset *out) {
    const tier_row *t = &tiers[tier];
    out->tier = tier;
    out->batch = t->batch;
    out->batch_low = t->batch_low;
    out->batch_high = t->batch_high;
    out->memory_budget = (uint64_t)(t->memory_gib * GIB);
    out->backbone_units = t->backbone_units;
    out->backbone_layers = 2;
    out->dropout = 0.1;
    out->compiled = 1;
}

static bool reaches(const eg_metric *have, double scale, double minimum) {
    return have->provenance != EG_UNAVAILABLE && have->value * scale >= minimum;
}

static eg_chip_tier tier_of(const figures *f) {
    for (int tier = TIERS - 1; tier > 0; tier--) {
        eg_requirement compute, bandwidth, memory;
        if (eg_requirement_of((eg_chip_tier)tier, EG_REQUIREMENT_COMPUTE, &compute, NULL) ||
            eg_requirement_of((eg_chip_tier)tier, EG_REQUIREMENT_BANDWIDTH, &bandwidth, NULL) ||
            eg_requirement_of((eg_chip_tier)tier, EG_REQUIREMENT_MEMORY, &memory, NULL))
            continue;
        if (reaches(&f->compute, 1, compute.minimum) &&
            reaches(&f->bandwidth, 1, bandwidth.minimum) &&
            f->memory_bytes >= memory.minimum * 1024 * 1024)
            return (eg_chip_tier)tier;
    }
    return EG_CHIP_TIER_BASE;
}

/* The largest power of two up to the wanted value, clamped to the range. */
static unsigned batch_of(const eg_preset *p, double wanted) {
    unsigned batch = p->batch_low;
    while (batch * 2 <= p->batch_high && batch * 2 <= wanted) batch *= 2;
    return batch;
}

static void derive(const figures *f, const char *rule, eg_preset *out) {
    tier_fill(tier_of(f), out);
    out->provenance = EG_MODELLED;
    out->rule = rule;
    if (f->bandwidth.provenance != EG_UNAVAILABLE)
        out->batch = batch_of(out, out->batch * f->bandwidth.value / tiers[out->tier].gbs);
    if (f->memory_bytes > 0) out->memory_budget = (uint64_t)(f->memory_bytes / 2);
}

static void power_fill(const eg_chip_row *row, eg_preset *out) {
    const bool both = isfinite(row->cpu_watts) && isfinite(row->gpu_watts);
    const double watts = isfinite(row->package_watts) ? row->package_watts
                         : both                       ? row->cpu_watts + row->gpu_watts
                                                      : NAN;
    const bool assumed = strncmp(row->power_source, "assumed", 7) == 0;
    int at = 0;
    out->power_note[0] = 0;
    if (isfinite(row->cpu_watts))
        at += snprintf(out->power_note, sizeof out->power_note, "CPU %g W, ", row->cpu_watts);
    if (isfinite(row->gpu_watts))
        at += snprintf(out->power_note + at, sizeof out->power_note - (size_t)at, "GPU %g W, ",
                       row->gpu_watts);
    if (row->power_source[0])
        snprintf(out->power_note + at, sizeof out->power_note - (size_t)at, "%s",
                 row->power_source);
    if (isfinite(watts))
        out->power = assumed ? eg__metric(watts, "W", EG_MODELLED,
                                          "assumed, CPU and GPU together: power_note says by whom")
                             : eg__metric(watts, "W", EG_TABLE,
                                          "measured by others, CPU and GPU together: power_note");
    else if (row->power_source[0])
        out->power = eg__metric_unavailable("W", "the chip table knows only a part of it");
    else out->power = eg__metric_unavailable("W", "the chip table has no power figure");
}

static const char derived_rule[] =
    "highest tier whose minimum it reaches; batch by bandwidth; half of its memory";

eg_status eg_preset_of(const eg_chip_row *row, eg_preset *out, eg_error *error) {
    if (!row || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no chip or no output pointer for a preset");
    memset(out, 0, sizeof *out);
    snprintf(out->chip, sizeof out->chip, "%s", row->name);
    const figures f = {eg_chip_ceiling(row, EG_REQUIREMENT_COMPUTE),
                       eg_chip_ceiling(row, EG_REQUIREMENT_BANDWIDTH), row->memory_max_gb * GIB};
    derive(&f, derived_rule, out);
    for (int tier = 0; tier < TIERS; tier++)
        if (strcmp(tiers[tier].chip, row->name) == 0) {
            tier_fill((eg_chip_tier)tier, out);
            out->provenance = EG_SPEC;
            out->rule = "table of presets";
        }
    out->neural_engine = row->ane_cores > 0;
    power_fill(row, out);
    return EG_OK;
}

eg_status eg_preset_find(const char *chip, eg_preset *out, eg_error *error) {
    eg_chip_row row;
    eg_status status = eg_chip_table_find(chip, &row, error);
    return status ? status : eg_preset_of(&row, out, error);
}

/* A metric in GFLOP/s as one in TFLOP/s. */
static eg_metric tera(eg_metric metric) {
    metric.value *= 1e-3;
    metric.unit = "TFLOP/s";
    return metric;
}

eg_status eg_preset_host(const eg_chip *chip, const eg_ceilings *ceilings, eg_preset *out,
                         eg_error *error) {
    if (!chip || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no chip or no output pointer for a preset");
    const double memory = (double)chip->memory_bytes;
    if (chip->in_table) {
        eg_status status = eg_preset_of(&chip->row, out, error);
        if (!status && memory > 0 && (double)out->memory_budget > memory / 2) {
            out->memory_budget = chip->memory_bytes / 2;
            out->provenance = EG_MODELLED;
            out->rule = "its row of the presets, with half of the memory that is installed";
        }
        return status;
    }
    memset(out, 0, sizeof *out);
    snprintf(out->chip, sizeof out->chip, "%s", chip->name);
    const eg_metric none = eg__metric_unavailable(NULL, "not measured");
    const figures f = {ceilings ? tera(ceilings->fma_all) : none,
                       ceilings ? ceilings->dram_all : none, memory};
    derive(&f,
           ceilings ? "highest tier whose minimum its measured ceilings reach; half of its memory"
                    : "not measured, so the lowest tier; half of its memory",
           out);
    out->power = eg__metric_unavailable("W", "the chip is not in the table");
    return EG_OK;
}
