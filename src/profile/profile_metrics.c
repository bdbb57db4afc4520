/* Figures of a profile: what follows from time, counts and ceilings. Never zero for unknown. */
#include "profile/profile.h"

#include <math.h>
#include <string.h>

const char *eg_profile_metric_name(eg_profile_metric_id id) {
    static const char *const names[] = {
#define NAME(name, unit, text) #name,
        EG_PROFILE_MAP(NAME)
#undef NAME
    };
    return (unsigned)id < EG_PROFILE_METRICS ? names[id] : NULL;
}

const char *eg_profile_metric_text(eg_profile_metric_id id) {
    static const char *const texts[] = {
#define TEXT(name, unit, text) text,
        EG_PROFILE_MAP(TEXT)
#undef TEXT
    };
    return (unsigned)id < EG_PROFILE_METRICS ? texts[id] : NULL;
}

static const char *unit_of(eg_profile_metric_id id) {
    static const char *const units[] = {
#define UNIT(name, unit, text) unit,
        EG_PROFILE_MAP(UNIT)
#undef UNIT
    };
    return units[id];
}

static void set(eg_profile *p, eg_profile_metric_id id, double value, eg_provenance provenance,
                const char *source) {
    p->metrics[id] =
        isfinite(value) ? (eg_metric){value, provenance, unit_of(id), source}
                        : (eg_metric){0, EG_UNAVAILABLE, unit_of(id), "it cannot be computed here"};
}

static void none(eg_profile *p, eg_profile_metric_id id, const char *why) {
    p->metrics[id] = (eg_metric){0, EG_UNAVAILABLE, unit_of(id), why};
}

/* ---- parts */
static void set_time(eg_profile *p) {
    const double seconds = p->time.p50.value; /* what others do on the machine is in the mean */
    const double samples = (double)(p->options.batch ? p->options.batch : 1);
    set(p, EG_PROFILE_time_mean, p->time.mean.value, EG_MEASURED, "mean of all timed runs");
    if (!p->subject.program) {
        none(p, EG_PROFILE_samples_per_second, "a callback does not say how many it works on");
        none(p, EG_PROFILE_steps_per_second, "a callback does not say how many it does");
        return;
    }
    const double steps = samples * (double)(p->options.seq ? p->options.seq : 1);
    set(p, EG_PROFILE_samples_per_second, samples / seconds, EG_MEASURED, "batch / median time");
    set(p, EG_PROFILE_steps_per_second, steps / seconds, EG_MEASURED,
        "batch x length / median time");
}

static void set_compute(eg_profile *p) {
    static const eg_profile_metric_id all[] = {
        EG_PROFILE_flops,       EG_PROFILE_tflops,    EG_PROFILE_compute_efficiency,
        EG_PROFILE_bytes_moved, EG_PROFILE_bandwidth, EG_PROFILE_bandwidth_utilization};
    static const char *const why = "a callback: nobody knows what it computes";
    if (!p->subject.program) {
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) none(p, all[i], why);
        none(p, EG_PROFILE_steps_sum, "a callback has no steps");
        none(p, EG_PROFILE_recorded_time, "a callback has no steps");
        none(p, EG_PROFILE_compile_time, "a callback is not compiled");
        none(p, EG_PROFILE_cache_hits, "a callback is not compiled");
        return;
    }
    eg_program_info info;
    eg_program_info_get(p->subject.program, &info);
    const double seconds = p->time.p50.value, gbps = info.bytes / seconds * 1e-9;
    const eg_ceilings *c = &p->ceilings;
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_metric *fma = one ? &c->fma_one : &c->fma_all;
    set(p, EG_PROFILE_flops, info.flops, EG_COUNTED, "sum over the steps");
    set(p, EG_PROFILE_tflops, info.flops / seconds * 1e-12, EG_MEASURED, "flops / median time");
    set(p, EG_PROFILE_bytes_moved, info.bytes, EG_COUNTED, "sum over the steps");
    set(p, EG_PROFILE_bandwidth, gbps, EG_MEASURED, "bytes_moved / median time");
    set(p, EG_PROFILE_steps_sum, p->steps_sum, EG_MEASURED,
        "recorder: mean of the quicker half of the recorded runs");
    set(p, EG_PROFILE_recorded_time, p->recorded_time, EG_MEASURED,
        "clock before and after each of the same runs");
    set(p, EG_PROFILE_compile_time, info.compile_seconds, EG_MEASURED,
        "one compilation, by a session");
    eg_session_figures session;
    eg_session_figures_get(p->subject.session, &session);
    set(p, EG_PROFILE_cache_hits, (double)session.hits, EG_COUNTED,
        "the session of the profile: timed and recorded runs ask for a program that is compiled once");
    if (p->has_ceilings && fma->provenance == EG_MEASURED)
        set(p, EG_PROFILE_compute_efficiency, info.flops / seconds * 1e-9 / fma->value, EG_MEASURED,
            one ? "tflops / FMA peak of one core" : "tflops / FMA peak of all threads");
    else none(p, EG_PROFILE_compute_efficiency, "the FMA peak was not measured");
    /* what a run touches: weights, values, states */
    const uint64_t touched = info.arena_bytes + info.parameter_bytes + info.derived_bytes +
                             info.constant_bytes + info.state_bytes + info.cache_bytes;
    const eg_chip *chip = &p->context->chip;
    const eg_metric *level = touched <= chip->kinds[0].l1d_bytes  ? one ? &c->l1_one : &c->l1_all
                             : touched <= chip->kinds[0].l2_bytes ? one ? &c->l2_one : &c->l2_all
                             : touched <= chip->l3_bytes          ? one ? &c->l3_one : &c->l3_all
                             : one                                ? &c->dram_one
                                                                  : &c->dram_all;
    if (p->has_ceilings && level->provenance == EG_MEASURED)
        set(p, EG_PROFILE_bandwidth_utilization, gbps / level->value, EG_MEASURED,
            "bandwidth / measured bandwidth of the cache or memory that a run fits into");
    else none(p, EG_PROFILE_bandwidth_utilization, "that bandwidth was not measured");
}

static void set_memory(eg_profile *p, const eg_memory_figures *before) {
    const eg_memory_figures now = p->memory_figures;
    const double peak = (double)now.peak - (double)before->current; /* what others held is theirs */
    set(p, EG_PROFILE_peak_memory, peak, EG_COUNTED, "allocations of the library");
    set(p, EG_PROFILE_current_memory, (double)now.current - (double)before->current, EG_COUNTED,
        "allocations of the library");
    set(p, EG_PROFILE_total_allocated, (double)(now.total_allocated - before->total_allocated),
        EG_COUNTED, "allocations of the library");
    set(p, EG_PROFILE_total_freed, (double)(now.total_freed - before->total_freed), EG_COUNTED,
        "allocations of the library");
    p->metrics[EG_PROFILE_peak_usage] = eg__peak_resident();
    if (strcmp(p->context->chip.vendor, "Apple") == 0)
        set(p, EG_PROFILE_unified_peak, peak, EG_COUNTED,
            "all units share one memory: what the library held");
    else none(p, EG_PROFILE_unified_peak, "this chip has no memory that other units share");
}

static void set_units(eg_profile *p) {
    const bool apple = strcmp(p->context->chip.vendor, "Apple") == 0;
    const char *why = apple ? "this program ran on the cores, not on the Neural Engine"
                            : "this chip has no Neural Engine";
    none(p, EG_PROFILE_ne_tflops, why);
    none(p, EG_PROFILE_ne_utilization, why);
    none(p, EG_PROFILE_ne_cycles,
         apple ? "no interface of the system tells cycles of the Neural Engine" : why);
    none(p, EG_PROFILE_transfer_rate,
         "the cores compute where the data are: nothing is transferred");
}

/* Where nothing counts them: the accesses of the program through caches of this machine in software. */
static void simulate_cache(eg_profile *p) {
    eg_cache_geometry geometry;
    eg_cache_result result;
    if (!p->subject.program || p->options.no_cache ||
        eg_cache_geometry_of_chip(&p->context->chip, &geometry, NULL) ||
        eg_cache_simulate(p->subject.program, &geometry, NULL, &result, NULL, NULL))
        return;
    const eg_metric *dram =
        eg__threads_count(p->context->threads) == 1 ? &p->ceilings.dram_one : &p->ceilings.dram_all;
    const double bytes = result.dram_read.value + result.dram_write.value;
    const double gbps = bytes / p->time.p50.value * 1e-9;
    if (result.level[0].hit_rate.provenance != EG_UNAVAILABLE)
        set(p, EG_PROFILE_cache_hit_rate, result.level[0].hit_rate.value, EG_SIMULATED,
            "accesses of the compiled steps through caches of this size, L1");
    set(p, EG_PROFILE_memory_bandwidth, gbps, EG_SIMULATED,
        "lines that the last simulated cache fetched and gave back / median time");
    if (p->has_ceilings && dram->provenance == EG_MEASURED)
        set(p, EG_PROFILE_mc_utilization, gbps / dram->value, EG_SIMULATED,
            "memory_bandwidth / measured bandwidth of the DRAM");
}

/* Misses of the last cache, where something counts them. */
static void count_dram(eg_profile *p) {
    const bool one = eg__threads_count(p->context->threads) == 1;
    const double line = p->context->chip.cache_line ? p->context->chip.cache_line : 64;
    double seconds = 0;
    for (size_t i = 0; i < p->sample_count; i++) seconds += p->samples[i];
    const double gbps = p->hardware.cache_misses.value * line / seconds * 1e-9;
    const eg_metric *dram = one ? &p->ceilings.dram_one : &p->ceilings.dram_all;
    const eg_provenance how = p->hardware.cache_misses.provenance;
    set(p, EG_PROFILE_memory_bandwidth, gbps, how, "misses of the last cache x its line");
    if (p->has_ceilings && dram->provenance == EG_MEASURED)
        set(p, EG_PROFILE_mc_utilization, gbps / dram->value, how,
            "memory_bandwidth / measured bandwidth of the DRAM");
}

static void set_hardware(eg_profile *p) {
    const eg_hardware *h = &p->hardware;
    p->metrics[EG_PROFILE_power_usage] = h->power;
    if (h->energy.provenance == EG_MEASURED)
        set(p, EG_PROFILE_energy_per_run, h->energy.value / (double)p->sample_count, EG_MEASURED,
            h->energy.source);
    else none(p, EG_PROFILE_energy_per_run, h->energy.source);
    none(p, EG_PROFILE_cache_hit_rate, "caches were not simulated");
    none(p, EG_PROFILE_memory_bandwidth, h->cache_misses.source);
    none(p, EG_PROFILE_mc_utilization, h->cache_misses.source);
    simulate_cache(p);
    if (h->cache_misses.provenance != EG_UNAVAILABLE) count_dram(p);
}

void eg__profile_figures(eg_profile *p, const eg_memory_figures *before) {
    set_time(p);
    set_compute(p);
    set_memory(p, before);
    set_units(p);
    set_hardware(p);
}
