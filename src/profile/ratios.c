/* Figures of a run beside what is asked of the chip, and which of them fall short. */
#include "profile/analysis.h"

#include <stdio.h>

static const struct {
    const char *name, *text;
} names[EG_RATIO_COUNT] = {
#define NAME(name, text) {#name, text},
    EG_RATIO_MAP(NAME)
#undef NAME
};

/* When each of them fires, and why one would care. */
static const struct {
    double threshold;
    int above;
    const char *reason;
} rules[EG_RATIO_COUNT] = {
    [EG_RATIO_compute] = {0.8, 0, "the cores could compute more in this time"},
    [EG_RATIO_bandwidth] = {0.8, 0, "the memory could give more in this time"},
    [EG_RATIO_memory] = {1, 1, "beyond the budget there is no room for anything else"},
    [EG_RATIO_cache] = {0.8, 0, "what the cache has not comes from slower memory"},
    [EG_RATIO_engine] = {0.8, 0, "the Neural Engine waits"},
    [EG_RATIO_controller] = {0.8, 1, "the memory is nearly busy: only fewer bytes help"},
    [EG_RATIO_power] = {1, 1, "a chip beyond its power slows down"}};

/* ---- facts */
static eg_metric whole(const char *of) { return eg__metric(1, "ratio", EG_COUNTED, of); }

/* The least that is asked, and the ceiling. */
static void need_fill(const eg_profile *p, eg_need need, const char *unit, eg_metric *limit,
                      eg_metric *ceiling) {
    const eg_chip *chip = &p->context->chip;
    eg_requirement r;
    if (eg_requirement_host(chip, p->has_ceilings ? &p->ceilings : NULL, need, &r, ceiling, NULL))
        *limit = eg__metric_unavailable(unit, ceiling->source);
    else
        *limit = eg__metric(r.minimum, unit, chip->in_table ? EG_SPEC : EG_MODELLED,
                            chip->in_table ? "requirement of the chip's tier"
                                           : "three quarters of the measured ceiling");
}

void eg__ratio_facts_of(const eg_profile *p, eg__ratio_facts *out) {
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
    }
    need_fill(p, EG_NEED_COMPUTE, "TFLOP/s", &out->limit[EG_RATIO_compute],
              &out->ceiling[EG_RATIO_compute]);
    need_fill(p, EG_NEED_BANDWIDTH, "GB/s", &out->limit[EG_RATIO_bandwidth],
              &out->ceiling[EG_RATIO_bandwidth]);
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
static void judge(const eg_metric *ceiling, eg_ratio *r) {
    const double ratio = r->ratio.value;
    const bool beyond =
        !r->above && ceiling->provenance != EG_UNAVAILABLE && r->limit.value > ceiling->value;
    if (beyond && ratio < 1)
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
        judge(&facts->ceiling[i], r);
    }
}
