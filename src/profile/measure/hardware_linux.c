/* Counters on Linux: perf events where the kernel gives them, what it counts of processes, and the energy of
 * the package from powercap. */
#include "profile/measure/hardware.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint64_t events[EG__COUNTERS] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                              PERF_COUNT_HW_CACHE_REFERENCES,
                                              PERF_COUNT_HW_CACHE_MISSES};

/* ---- energy: microjoules of the package, or nothing */
static double read_number(const char *path) {
    char text[32];
    double value;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NAN;
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return NAN;
    size_t length = 0;
    while (length < (size_t)size && text[length] >= '0' && text[length] <= '9') length++;
    return eg_number_parse(text, length, &value, NULL) ? NAN : value;
}

/* "psys" is the whole machine and includes the packages. */
static bool is_package(const char *folder, const char *entry) {
    char path[1024], name[32] = "";
    snprintf(path, sizeof path, "%s/%.200s/name", folder, entry);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t size = read(file, name, sizeof name - 1);
    close(file);
    return size > 0 && strncmp(name, "package", 7) == 0;
}

/* The sum over all packages; their names have one colon, those of subdomains two. */
static double read_energy(const char *root, char source[128]) {
    char folder[512], path[1024];
    double sum = 0;
    bool any = false;
    snprintf(folder, sizeof folder, "%s/sys/class/powercap", root);
    DIR *dir = opendir(folder);
    if (!dir) {
        snprintf(source, 128, "no /sys/class/powercap: the kernel reports no energy");
        return NAN;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        /* "intel-rapl:0"; not its subdomains, nor the same package through MMIO
         * ("intel-rapl-mmio:0") */
        const char *colon = strchr(entry->d_name, ':');
        if (!colon || strchr(colon + 1, ':') || strncmp(entry->d_name, "intel-rapl:", 11) != 0 ||
            !is_package(folder, entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%.200s/energy_uj", folder, entry->d_name);
        const double value = read_number(path);
        if (isnan(value)) continue;
        sum += value * 1e-6;
        any = true;
    }
    closedir(dir);
    snprintf(source, 128,
             any ? "powercap: energy of the package"
                 : "powercap has no counter that this user may read");
    return any ? sum : NAN;
}

/* ---- the watch */
void eg__hardware_begin(eg__hardware_watch *w, const char *root) {
    memset(w, 0, sizeof *w);
    w->process_cycles = w->process_instructions = NAN;
    for (int i = 0; i < EG__COUNTERS; i++)
        eg__thread_counter_open(&w->counters[i], PERF_TYPE_HARDWARE, events[i]);
    w->energy = read_energy(root, w->energy_source);
    eg__usage_read(&w->cpu_seconds, &w->switches, &w->faults);
    for (int i = 0; i < EG__COUNTERS; i++) eg__thread_counter_start(&w->counters[i]);
    w->start_ns = eg_clock_ns();
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
    const double seconds = (double)(eg_clock_ns() - w->start_ns) * 1e-9;
    double cpu;
    uint64_t switches, faults;
    eg__usage_read(&cpu, &switches, &faults);
    const double energy = read_energy(root, w->energy_source) - w->energy;
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
    if (energy < 0)
        snprintf(w->energy_source, sizeof w->energy_source, "the energy counter was reset");
    out->energy = isnan(energy) || energy < 0
                      ? eg__metric_unavailable("J", w->energy_source)
                      : (eg_metric){energy, EG_MEASURED, "J", w->energy_source};
    out->power = out->energy.provenance == EG_MEASURED && seconds > 0
                     ? (eg_metric){energy / seconds, EG_MEASURED, "W", w->energy_source}
                     : eg__metric_unavailable("W", w->energy_source);
}
