/* The cores that the calling thread may run on, fastest first, and binding it to one of them. The
 * kernel's files are enough; loading a whole topology in every worker would take far longer. */
#include "chip/detect.h"

#include <sched.h>
#include <string.h>

enum { CPUS_MAX = EG__MASK_WORDS * 64 };

static bool has_cpu(const eg__cpu_mask *mask, unsigned cpu) {
    return cpu < CPUS_MAX && mask->words[cpu / 64] >> cpu % 64 & 1;
}

static void add_cpu(eg__cpu_mask *mask, unsigned cpu) {
    if (cpu < CPUS_MAX) mask->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static bool cpu_text(const char *root, unsigned cpu, const char *name, char *out, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%u/%s", cpu, name);
    return eg__root_text(root, path, out, size);
}

/* The hardware threads of the core that has `cpu`, as far as they are allowed: "0,8" or "0-1". */
static eg__cpu_mask siblings_of(const char *root, unsigned cpu, const eg__cpu_mask *allowed) {
    eg__cpu_mask mask = {{0}};
    char list[256];
    add_cpu(&mask, cpu);
    if (!cpu_text(root, cpu, "topology/thread_siblings_list", list, sizeof list)) return mask;
    unsigned first = 0, number = 0;
    bool range = false, digits = false;
    for (const char *c = list;; c++) {
        if (*c >= '0' && *c <= '9') {
            if (number < CPUS_MAX) number = number * 10 + (unsigned)(*c - '0');
            digits = true;
        } else if (*c == '-' && digits) {
            first = number, number = 0, range = true, digits = false;
        } else {
            for (unsigned i = range ? first : number; digits && i <= number && i < CPUS_MAX; i++)
                if (has_cpu(allowed, i)) add_cpu(&mask, i);
            if (!*c) return mask;
            number = 0, range = digits = false;
        }
    }
}

static unsigned first_of(const eg__cpu_mask *mask) {
    unsigned cpu = 0;
    while (cpu < CPUS_MAX && !has_cpu(mask, cpu)) cpu++;
    return cpu;
}

/* ARM kernels rate cores by capacity, others tell their highest clock; 0 when neither is told. */
static uint64_t speed_of(const char *root, unsigned cpu) {
    char text[32];
    uint64_t speed;
    if (cpu_text(root, cpu, "cpu_capacity", text, sizeof text) && eg__text_number(text, &speed))
        return speed;
    if (cpu_text(root, cpu, "cpufreq/cpuinfo_max_freq", text, sizeof text) &&
        eg__text_number(text, &speed))
        return speed;
    return 0;
}

unsigned eg__cores_count(const char *root, const eg__cpu_mask *allowed) {
    unsigned cores = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!has_cpu(allowed, cpu)) continue;
        eg__cpu_mask core = siblings_of(root, cpu, allowed);
        cores += first_of(&core) == cpu;
    }
    return cores;
}

bool eg__core_pick(const char *root, const eg__cpu_mask *allowed, unsigned index,
                   eg__cpu_mask *out) {
    struct {
        uint64_t speed;
        unsigned cpu;
    } cores[CPUS_MAX];
    unsigned count = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!has_cpu(allowed, cpu)) continue;
        eg__cpu_mask core = siblings_of(root, cpu, allowed);
        if (first_of(&core) != cpu) continue;
        uint64_t speed = speed_of(root, cpu);
        unsigned at = count++;
        for (; at > 0 && cores[at - 1].speed < speed; at--) cores[at] = cores[at - 1];
        cores[at].speed = speed;
        cores[at].cpu = cpu;
    }
    if (index >= count) return false;
    *out = siblings_of(root, cores[index].cpu, allowed);
    return true;
}

static bool allowed_read(eg__cpu_mask *out) {
    memset(out, 0, sizeof *out);
    return sched_getaffinity(0, sizeof out->words, (cpu_set_t *)out->words) == 0;
}

bool eg__cores_usable(unsigned *cores, unsigned *threads) {
    eg__cpu_mask allowed;
    if (!allowed_read(&allowed)) return false;
    *threads = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) *threads += has_cpu(&allowed, cpu);
    *cores = eg__cores_count(NULL, &allowed);
    return *threads > 0;
}

bool eg__chip_bind_thread(unsigned index) {
    eg__cpu_mask allowed, core;
    return allowed_read(&allowed) && eg__core_pick(NULL, &allowed, index, &core) &&
           sched_setaffinity(0, sizeof core.words, (const cpu_set_t *)core.words) == 0;
}

bool eg__chip_thread_bound(bool *bound) {
    eg__cpu_mask allowed;
    if (!allowed_read(&allowed)) return false;
    const eg__cpu_mask core = siblings_of(NULL, first_of(&allowed), &allowed);
    *bound = memcmp(&core, &allowed, sizeof core) == 0;
    return true;
}
