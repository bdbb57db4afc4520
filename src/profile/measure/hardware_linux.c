/* Counters on Linux: perf events where the kernel gives them, and what it counts of processes. */
#include "profile/measure/hardware.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <string.h>

static const uint64_t events[EG__COUNTERS] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                              PERF_COUNT_HW_CACHE_REFERENCES,
                                              PERF_COUNT_HW_CACHE_MISSES};

/* ---- the watch */
void eg__hardware_begin(eg__hardware_watch *w, const char *root) {
    (void)root; /* none of these is a file */
    memset(w, 0, sizeof *w);
    w->process_cycles = w->process_instructions = NAN;
    for (int i = 0; i < EG__COUNTERS; i++)
        eg__thread_counter_open(&w->counters[i], PERF_TYPE_HARDWARE, events[i]);
    eg__usage_read(&w->cpu_seconds, &w->switches, &w->faults);
    for (int i = 0; i < EG__COUNTERS; i++) eg__thread_counter_start(&w->counters[i]);
}

static const char *refusal(int reason) {
    switch (reason) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV: return "this processor, or its virtual machine, has no hardware counters";
    case EACCES:
    case EPERM: return "the kernel refuses counters to this user (perf_event_paranoid)";
    case ENOSYS: return "a kernel without perf events";
    case EMFILE: return "more threads than this process may open counters for";
    }
    return "the kernel refuses the counter";
}

static eg_metric counter(eg__hardware_watch *w, int i, const char *unit) {
    double value;
    bool whole;
    if (!w->counters[i].count) return eg__metric_unavailable(unit, refusal(w->counters[i].reason));
    if (!eg__thread_counter_stop(&w->counters[i], &value, &whole))
        return eg__metric_unavailable(unit, "the counter told nothing");
    return whole ? eg__metric(value, unit, EG_COUNTED, "perf event, all threads")
                 : eg__metric(value, unit, EG_MODELLED,
                              "perf event, all threads, scaled up: events shared a counter");
}

void eg__hardware_end(eg__hardware_watch *w, const char *root, eg_hardware *out) {
    (void)root;
    double cpu;
    uint64_t switches, faults;
    eg__usage_read(&cpu, &switches, &faults);
    out->cycles = counter(w, 0, "cycles");
    out->instructions = counter(w, 1, "instructions");
    out->cache_references = counter(w, 2, "accesses");
    out->cache_misses = counter(w, 3, "accesses");
    const bool both = out->cycles.provenance != EG_UNAVAILABLE && out->cycles.value > 0 &&
                      out->instructions.provenance != EG_UNAVAILABLE;
    out->ipc = both ? eg__metric(out->instructions.value / out->cycles.value, "instructions/cycle",
                                 out->cycles.provenance == out->instructions.provenance
                                     ? out->cycles.provenance
                                     : EG_MODELLED,
                                 "instructions / cycles")
                    : eg__metric_unavailable("instructions/cycle", out->cycles.source);
    out->cpu_time = (eg_metric){cpu - w->cpu_seconds, EG_MEASURED, "s", "getrusage"};
    out->context_switches =
        eg__metric((double)(switches - w->switches), "switches", EG_COUNTED, "getrusage");
    out->page_faults = eg__metric((double)(faults - w->faults), "faults", EG_COUNTED, "getrusage");
    out->energy = eg__metric_unavailable("J", "Linux counts no energy of a process");
    out->power = eg__metric_unavailable("W", out->energy.source);
}
