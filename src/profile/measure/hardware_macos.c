/* Counters on macOS: what the kernel counts of a process, cycles, instructions and energy among them. */
#include "profile/measure/hardware.h"

#include <libproc.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool read_process(double *cycles, double *instructions, double *energy) {
    struct rusage_info_v6 info;
    if (proc_pid_rusage(getpid(), RUSAGE_INFO_V6, (rusage_info_t *)&info) != 0) return false;
    *cycles = (double)info.ri_cycles;
    *instructions = (double)info.ri_instructions;
    *energy = (double)info.ri_energy_nj * 1e-9;
    return true;
}

void eg__hardware_begin(eg__hardware_watch *w, const char *root) {
    (void)root; /* none of these is a file */
    memset(w, 0, sizeof *w);
    if (!read_process(&w->process_cycles, &w->process_instructions, &w->energy))
        w->process_cycles = w->process_instructions = w->energy = NAN;
    eg__usage_read(&w->cpu_seconds, &w->switches, &w->faults);
    w->start_ns = eg_clock_ns();
}

static eg_metric known(double value, eg_provenance provenance, const char *unit) {
    static const char *const why = "this macOS does not count it for a process";
    return isfinite(value) && value > 0 ? (eg_metric){value, provenance, unit, "proc_pid_rusage"}
                                        : (eg_metric){0, EG_UNAVAILABLE, unit, why};
}

void eg__hardware_end(eg__hardware_watch *w, const char *root, eg_hardware *out) {
    (void)root;
    const double seconds = (double)(eg_clock_ns() - w->start_ns) * 1e-9;
    double cpu, cycles = NAN, instructions = NAN, energy = NAN;
    uint64_t switches, faults;
    eg__usage_read(&cpu, &switches, &faults);
    read_process(&cycles, &instructions, &energy);
    cycles -= w->process_cycles;
    instructions -= w->process_instructions;
    energy -= w->energy;
    static const char *const none = "macOS gives programs no cache counters";
    out->cycles = known(cycles, EG_COUNTED, "cycles");
    out->instructions = known(instructions, EG_COUNTED, "instructions");
    out->ipc = known(instructions / cycles, EG_COUNTED, "instructions/cycle");
    out->cache_references = out->cache_misses = (eg_metric){0, EG_UNAVAILABLE, "accesses", none};
    out->cpu_time = (eg_metric){cpu - w->cpu_seconds, EG_MEASURED, "s", "getrusage"};
    out->context_switches =
        (eg_metric){(double)(switches - w->switches), EG_COUNTED, "switches", "getrusage"};
    out->page_faults = (eg_metric){(double)(faults - w->faults), EG_COUNTED, "faults", "getrusage"};
    out->energy = known(energy, EG_MEASURED, "J");
    out->power = known(energy / seconds, EG_MEASURED, "W");
}
