/* Figures of a profile: what follows from time, counts and ceilings. Never zero for unknown. */
#include "profile/profile.h"

#include <math.h>
#include <stdio.h>
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
    /* the median, because the mean includes interruptions by other processes */
    const double seconds = p->time.p50.value;
    set(p, EG_PROFILE_time_median, seconds, EG_MEASURED, "median of all timed runs");
    const double samples = (double)(p->options.batch ? p->options.batch : 1);
    set(p, EG_PROFILE_time_mean, p->time.mean.value, EG_MEASURED, "mean of all timed runs");
    if (!p->subject.program) {
        none(p, EG_PROFILE_samples_per_second, "a callback has no batch size");
        none(p, EG_PROFILE_steps_per_second, "a callback has no time steps");
        return;
    }
    const double steps = samples * (double)(p->options.seq ? p->options.seq : 1);
    set(p, EG_PROFILE_samples_per_second, samples / seconds, EG_MEASURED, "batch / median time");
    set(p, EG_PROFILE_steps_per_second, steps / seconds, EG_MEASURED,
        "batch x length / median time");
}

/* int8 products would need an int8 peak, which is not measured. */
static void set_efficiency(eg_profile *p, double peak, bool one) {
    double at_peak = 0;
    bool integers = false;
    for (size_t i = 0; i < p->step_count; i++) {
        const double times = eg__peak_times(p, p->steps[i].traits);
        at_peak += p->steps[i].flops / (peak * times);
        integers = integers || times > 1;
    }
    set(p, EG_PROFILE_compute_efficiency, at_peak / p->time.p50.value,
        integers ? EG_MODELLED : EG_MEASURED,
        integers ? "time at the peak / median time; int8 peak: as many products as fit into an FMA"
        : one    ? "tflops / FMA peak of one core"
                 : "tflops / FMA peak of all threads");
}

static void set_compute(eg_profile *p) {
    static const eg_profile_metric_id all[] = {EG_PROFILE_flops, EG_PROFILE_tflops,
                                               EG_PROFILE_compute_efficiency};
    static const char *const why = "a callback: its FLOPs are unknown";
    if (!p->subject.program) {
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) none(p, all[i], why);
        none(p, EG_PROFILE_steps_sum, "a callback has no steps");
        none(p, EG_PROFILE_recorded_time, "a callback has no steps");
        none(p, EG_PROFILE_compile_time, "a callback is not compiled");
        none(p, EG_PROFILE_cache_hits, "a callback is not compiled");
        return;
    }
    eg_program_info info = {.size = sizeof info};
    eg_program_info_get(p->subject.program, &info);
    const double seconds = p->time.p50.value;
    const eg_ceilings *c = &p->ceilings;
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_metric *fma = one ? &c->fma_one : &c->fma_all;
    set(p, EG_PROFILE_flops, info.flops, EG_COUNTED, "sum over the steps");
    set(p, EG_PROFILE_tflops, info.flops / seconds * 1e-12, EG_MEASURED, "flops / median time");
    if (p->options.no_steps) {
        none(p, EG_PROFILE_steps_sum, "steps were not recorded");
        none(p, EG_PROFILE_recorded_time, "steps were not recorded");
    } else {
        set(p, EG_PROFILE_steps_sum, p->steps_sum, EG_MEASURED,
            "recorder: mean of the faster half of the recorded runs");
        set(p, EG_PROFILE_recorded_time, p->recorded_time, EG_MEASURED,
            "clock before and after each of the same runs");
    }
    set(p, EG_PROFILE_compile_time, info.compile_seconds, EG_MEASURED,
        "one compilation, by a session");
    eg_session_figures session;
    eg_session_figures_get(p->subject.session, &session);
    set(p, EG_PROFILE_cache_hits, (double)session.hits, EG_COUNTED,
        "the session of the profile: timed and recorded runs share one compiled program");
    if (p->has_ceilings && fma->provenance == EG_MEASURED && !p->options.no_steps)
        set_efficiency(p, fma->value * 1e9, one);
    else none(p, EG_PROFILE_compute_efficiency, "no FMA peak was measured, or no step recorded");
}

/* ---- memory: operand traffic from any level, and DRAM traffic */

const char *eg_profile_operand_level(const eg_profile *p) { return p->operand_level; }

/* The farthest level that at least half of the operands come from and whose bandwidth allows this
 * time. */
static void set_operands(eg_profile *p) {
    static const char *const sources[EG__LEVELS] = {
        "operand_rate / measured bandwidth of the L1",
        "operand_rate / measured bandwidth of the L2",
        "operand_rate / measured bandwidth of the L3",
        "operand_rate / measured bandwidth of the DRAM"};
    const double *bytes = p->traffic.run, gbps = bytes[0] / p->time.p50.value * 1e-9;
    set(p, EG_PROFILE_bytes_moved, bytes[0], EG_COUNTED, "sum over the steps");
    set(p, EG_PROFILE_operand_rate, gbps, EG_MEASURED, "counted bytes_moved / median time");
    none(p, EG_PROFILE_operand_utilization,
         "the bandwidth of the level that serves them was not measured");
    for (int i = EG__LEVELS - 1; i >= 0; i--) {
        const double ceiling = eg__level_ceiling(p, i);
        if (bytes[i] < bytes[0] / 2 || !(gbps <= EG__BEYOND * ceiling)) continue;
        set(p, EG_PROFILE_operand_utilization, gbps / ceiling,
            i ? p->traffic.provenance : EG_MEASURED, sources[i]);
        p->operand_level = eg__level_name(i);
        return;
    }
}

/* A rate above the DRAM's ceiling is wrong, unless the processor counted it. */
static void set_dram(eg_profile *p) {
    static const char over_time[][64] = {"counted last-level misses x line / median time",
                                         "simulated dram_bytes / median time",
                                         "dram_bytes by the working set / median time"};
    const eg__traffic *t = &p->traffic;
    const double bytes = t->run[EG__LEVELS - 1], gbps = bytes / p->time.p50.value * 1e-9,
                 ceiling = eg__level_ceiling(p, EG__LEVELS - 1);
    const bool seen = t->provenance == EG_MEASURED;
    static const char no_ceiling[] = "the bandwidth of the DRAM was not measured";
    if (!seen && gbps > EG__BEYOND * ceiling) {
        snprintf(
            p->refusal, sizeof p->refusal,
            "%s caches would need %.3g GB/s of a DRAM with %.3g: the real ones hit more often, or"
            " the ceilings are too low (info --measure --again)",
            t->provenance == EG_SIMULATED ? "the simulated" : "the assumed", gbps, ceiling);
        none(p, EG_PROFILE_dram_bytes, p->refusal);
        none(p, EG_PROFILE_bandwidth, p->refusal);
        none(p, EG_PROFILE_bandwidth_utilization, p->refusal);
        return;
    }
    set(p, EG_PROFILE_dram_bytes, bytes, seen ? EG_COUNTED : t->provenance, t->source);
    set(p, EG_PROFILE_bandwidth, gbps, t->provenance,
        over_time[seen                            ? 0
                  : t->provenance == EG_SIMULATED ? 1
                                                  : 2]);
    if (isfinite(ceiling))
        set(p, EG_PROFILE_bandwidth_utilization, gbps / ceiling, t->provenance,
            "bandwidth / measured bandwidth of the DRAM");
    else none(p, EG_PROFILE_bandwidth_utilization, no_ceiling);
}

/* The figures of the memory controller are those of the DRAM. */
static void set_traffic(eg_profile *p) {
    static const eg_profile_metric_id all[] = {
        EG_PROFILE_bytes_moved, EG_PROFILE_operand_rate, EG_PROFILE_operand_utilization,
        EG_PROFILE_dram_bytes,  EG_PROFILE_bandwidth,    EG_PROFILE_bandwidth_utilization};
    const eg_metric *hits = &p->traffic.cache.level[0].hit_rate;
    none(p, EG_PROFILE_cache_hit_rate, "caches were not simulated");
    if (p->traffic.steps) {
        set_operands(p);
        set_dram(p);
    } else
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            none(p, all[i],
                 p->subject.program ? "steps were not recorded"
                                    : "a callback: its traffic is unknown");
    p->metrics[EG_PROFILE_memory_bandwidth] = p->metrics[EG_PROFILE_bandwidth];
    p->metrics[EG_PROFILE_mc_utilization] = p->metrics[EG_PROFILE_bandwidth_utilization];
    if (p->traffic.has_cache && hits->provenance != EG_UNAVAILABLE)
        set(p, EG_PROFILE_cache_hit_rate, hits->value, EG_SIMULATED,
            "accesses of the compiled steps through caches of this size, L1");
}

/* Peak memory: the resident memory of the process, including the model loaded before, until the
 * timed runs end (later the profiler allocates itself). The library's own share is counted
 * separately. */
static void set_memory(eg_profile *p, const eg_memory_figures *before) {
    const eg_memory_figures now = p->memory_figures;
    static const char *const source = "allocations of the library";
    p->metrics[EG_PROFILE_peak_memory] = p->metrics[EG_PROFILE_peak_usage] = p->peak_resident;
    p->metrics[EG_PROFILE_current_memory] = p->now_resident;
    set(p, EG_PROFILE_library_peak, (double)now.peak, EG_COUNTED, source);
    set(p, EG_PROFILE_library_held, (double)now.current, EG_COUNTED, source);
    set(p, EG_PROFILE_total_allocated, (double)(now.total_allocated - before->total_allocated),
        EG_COUNTED, source);
    set(p, EG_PROFILE_total_freed, (double)(now.total_freed - before->total_freed), EG_COUNTED,
        source);
    if (strcmp(p->context->chip.vendor, "Apple") == 0)
        p->metrics[EG_PROFILE_unified_peak] = p->peak_resident; /* all units share one memory */
    else none(p, EG_PROFILE_unified_peak, "this chip has no memory that other units share");
}

static void set_units(eg_profile *p) {
    const bool apple = strcmp(p->context->chip.vendor, "Apple") == 0;
    const char *why = apple ? "this program ran on the cores, not on the Neural Engine"
                            : "this chip has no Neural Engine";
    none(p, EG_PROFILE_ne_tflops, why);
    none(p, EG_PROFILE_ne_utilization, why);
    none(p, EG_PROFILE_ne_cycles,
         apple ? "the system does not report cycles of the Neural Engine" : why);
    none(p, EG_PROFILE_transfer_rate,
         "the cores compute where the data are: nothing is transferred");
}

static void set_hardware(eg_profile *p) {
    const eg_hardware *h = &p->hardware;
    p->metrics[EG_PROFILE_power_usage] = h->power;
    if (h->energy.provenance == EG_MEASURED)
        set(p, EG_PROFILE_energy_per_run, h->energy.value / (double)p->sample_count, EG_MEASURED,
            h->energy.source);
    else none(p, EG_PROFILE_energy_per_run, h->energy.source);
}

void eg__profile_figures(eg_profile *p, const eg_memory_figures *before) {
    set_time(p);
    set_compute(p);
    set_traffic(p);
    set_memory(p, before);
    set_units(p);
    none(p, EG_PROFILE_activations_rms, "activations are f32");
    none(p, EG_PROFILE_activations_max, "activations are f32");
    set_hardware(p);
}
