/* Figures of a run compared with the requirements of the chip, and which of them fall short. */
#include "profile/analysis.h"

#include <stdio.h>

static const struct {
    const char *name, *text;
} names[EG_RATIO_COUNT] = {
#define NAME(name, text) {#name, text},
    EG_RATIO_MAP(NAME)
#undef NAME
};

/* The threshold of each ratio, and why it matters. */
static const struct {
    double threshold;
    int above;
    const char *reason;
} rules[EG_RATIO_COUNT] = {
    [EG_RATIO_compute] = {0.8, 0, "the cores could compute more in this time"},
    [EG_RATIO_bandwidth] = {0.8, 0, "the memory could deliver more in this time"},
    [EG_RATIO_memory] = {1, 1, "beyond the budget there is no room for anything else"},
    [EG_RATIO_cache] = {0.8, 0, "misses are served by slower memory"},
    [EG_RATIO_engine] = {0.8, 0, "the Neural Engine waits"},
    [EG_RATIO_controller] = {0.8, 1, "the memory is nearly saturated: only fewer bytes help"},
    [EG_RATIO_power] = {1, 1, "a chip beyond its power budget is throttled"}};

/* ---- facts */
static eg_metric whole(const char *of) { return eg__metric(1, "ratio", EG_COUNTED, of); }

/* The requirement, the ceiling, and whether it applies to a run that computes or moves `amount`. */
static void need_fill(const eg__facts *f, eg_requirement_kind need, eg_ratio_id id, double amount,
                      eg__ratio_facts *out) {
    const eg_profile *p = f->profile;
    const eg_chip *chip = &p->context->chip;
    eg_metric *ceiling = &out->ceiling[id];
    eg_requirement r;
    eg_requirement_result result;
    if (eg_requirement_host(chip, p->has_ceilings ? &p->ceilings : NULL, need, &r, ceiling, NULL)) {
        out->limit[id] = eg__metric_unavailable(ceiling->unit, ceiling->source);
        return;
    }
    out->limit[id] = eg__metric(r.minimum, r.unit, chip->in_table ? EG_SPEC : EG_MODELLED,
                                chip->in_table ? "requirement of the chip's tier"
                                               : "three quarters of the measured ceiling");
    const double overhead = f->share[EG__BY_OVERHEAD] * f->seconds;
    if (eg_requirement_check_run(&out->value[id], &r, ceiling, amount, overhead, &result, NULL) ==
            EG_OK &&
        result.check == EG_CHECK_DOES_NOT_APPLY)
        snprintf(out->exempt[id], sizeof out->exempt[id], "%s: %.100s", eg_check_name(result.check),
                 result.text);
}

void eg__ratio_facts_of(const eg__facts *facts, eg__ratio_facts *out) {
    const eg_profile *p = facts->profile;
    static const eg_profile_metric_id ids[EG_RATIO_COUNT] = {
        [EG_RATIO_compute] = EG_PROFILE_tflops,
        [EG_RATIO_bandwidth] = EG_PROFILE_bandwidth,
        [EG_RATIO_memory] = EG_PROFILE_peak_memory,
        [EG_RATIO_cache] = EG_PROFILE_cache_hit_rate,
        [EG_RATIO_engine] = EG_PROFILE_ne_utilization,
        [EG_RATIO_controller] = EG_PROFILE_mc_utilization,
        [EG_RATIO_power] = EG_PROFILE_power_usage};
    eg_preset preset;
    for (int i = 0; i < EG_RATIO_COUNT; i++) {
        out->value[i] = p->metrics[ids[i]];
        out->ceiling[i] = eg__metric_unavailable(NULL, "none");
        out->exempt[i][0] = 0;
    }
    /* a tenth of the operands from the DRAM is what caches leave of any run */
    const double dram = p->traffic.run[EG__LEVELS - 1];
    need_fill(facts, EG_REQUIREMENT_COMPUTE, EG_RATIO_compute, p->metrics[EG_PROFILE_flops].value,
              out);
    need_fill(facts, EG_REQUIREMENT_BANDWIDTH, EG_RATIO_bandwidth,
              dram < 0.1 * p->traffic.run[0] ? 0 : dram, out);
    /* int8 products are faster than FMAs: the FMA peak is not their ceiling */
    if (p->metrics[EG_PROFILE_compute_efficiency].provenance == EG_MODELLED)
        out->ceiling[EG_RATIO_compute] = eg__metric_unavailable(NULL, "products of bytes");
    out->limit[EG_RATIO_cache] = whole("all accesses");
    out->limit[EG_RATIO_engine] = whole("all of it");
    out->limit[EG_RATIO_controller] = whole("all of it");
    const bool known = eg_preset_host(&p->context->chip, p->has_ceilings ? &p->ceilings : NULL,
                                      &preset, NULL) == EG_OK;
    out->limit[EG_RATIO_memory] =
        known ? eg__metric((double)preset.memory_budget, "B", preset.provenance, preset.rule)
              : eg__metric_unavailable("B", "there is no preset");
    out->limit[EG_RATIO_power] =
        known ? preset.power : eg__metric_unavailable("W", "there is no preset");
}

/* ---- ratios */

/* No run is faster than the hardware: a ratio above 1 is reported as a measurement problem. */
static void say_impossible(const eg_metric *ceiling, eg_ratio *r) {
    snprintf(r->verdict, sizeof r->verdict, "beyond the ceiling of %.4g %s: %s", ceiling->value,
             r->value.unit ? r->value.unit : "",
             ceiling->provenance == EG_MEASURED
                 ? "measured on a busy machine? info --measure --again"
                 : "the chip table or the figure is wrong");
}

static void judge(const eg_metric *ceiling, const char *exempt, eg_ratio *r) {
    const double ratio = r->ratio.value;
    const bool has_ceiling = !r->above && ceiling->provenance != EG_UNAVAILABLE;
    const bool beyond = has_ceiling && r->limit.value > ceiling->value;
    if (has_ceiling && r->value.value > EG__BEYOND * ceiling->value) say_impossible(ceiling, r);
    else if (exempt[0]) snprintf(r->verdict, sizeof r->verdict, "%s", exempt);
    else if (beyond && ratio < 1)
        snprintf(r->verdict, sizeof r->verdict, "%s: the chip has only %.4g %s",
                 eg_check_name(EG_CHECK_ABOVE_CEILING), ceiling->value,
                 r->value.unit ? r->value.unit : "");
    else if (r->above ? ratio > r->threshold : ratio < r->threshold) {
        r->fires = 1;
        snprintf(r->verdict, sizeof r->verdict, "%s %.2f", r->above ? "above" : "below",
                 r->threshold);
    } else snprintf(r->verdict, sizeof r->verdict, "%s", eg_check_name(EG_CHECK_MET));
}

static eg_provenance weaker(eg_provenance a, eg_provenance b) {
    static const eg_provenance order[] = {EG_MODELLED, EG_SIMULATED, EG_SPEC, EG_MEASURED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i]) return order[i];
    return EG_COUNTED;
}

void eg__ratios_make(const eg__ratio_facts *facts, eg_ratio out[EG_RATIO_COUNT]) {
    for (int i = 0; i < EG_RATIO_COUNT; i++) {
        eg_ratio *r = &out[i];
        const eg_metric *value = &facts->value[i], *limit = &facts->limit[i];
        *r = (eg_ratio){.name = names[i].name,
                        .text = names[i].text,
                        .value = *value,
                        .limit = *limit,
                        .threshold = rules[i].threshold,
                        .above = rules[i].above,
                        .reason = rules[i].reason};
        const eg_metric *missing = value->provenance == EG_UNAVAILABLE ? value : limit;
        if (missing->provenance == EG_UNAVAILABLE || !(limit->value > 0)) {
            r->ratio = eg__metric_unavailable("ratio", missing->source);
            continue;
        }
        r->ratio = eg__metric(value->value / limit->value, "ratio",
                              weaker(value->provenance, limit->provenance), limit->source);
        judge(&facts->ceiling[i], facts->exempt[i], r);
    }
}
