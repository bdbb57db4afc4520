/* Cores and caches from the kernel's own files, where hwloc is missing or has nothing to read: one
 * kind of core, the caches of processor 0. */
#include "chip/detect.h"

#include <stdlib.h>
#include <string.h>

/* How many processors "0-3,8,10-11" names; 0 when it names none or is broken. */
static unsigned list_count(const char *list) {
    unsigned count = 0;
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list) return 0;
        if (*end == '-') {
            list = end + 1;
            last = strtoul(list, &end, 10);
            if (end == list) return 0;
        }
        if (last < first || last >= EG__CORES_LIMIT) return 0;
        count += (unsigned)(last - first + 1);
        if (*end && *end != ',') return 0;
        list = *end ? end + 1 : end;
    }
    return count;
}

/* "512K", "12M" */
static uint64_t size_parse(const eg__log *log, char *text) {
    size_t length = strlen(text);
    uint64_t unit = 1;
    if (length && (text[length - 1] == 'K' || text[length - 1] == 'M')) {
        unit = text[length - 1] == 'K' ? 1024 : 1024 * 1024;
        text[length - 1] = 0;
    }
    return eg__plausible(log, "cache size", text, 1, EG__CACHE_LIMIT / unit) * unit;
}

static bool cache_text(const char *root, unsigned index, const char *name, char *out, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
    return eg__root_text(root, path, out, size);
}

static void cache_read(const char *root, const eg__log *log, unsigned index, eg_chip *chip) {
    char level[16], type[32], size[32], shared[256], line[16];
    eg_core_kind *kind = &chip->kinds[0];
    if (!cache_text(root, index, "level", level, sizeof level) ||
        !cache_text(root, index, "type", type, sizeof type) ||
        !cache_text(root, index, "size", size, sizeof size))
        return;
    uint64_t bytes = size_parse(log, size);
    unsigned threads =
        cache_text(root, index, "shared_cpu_list", shared, sizeof shared) ? list_count(shared) : 0;
    unsigned cores = kind->threads ? threads * kind->cores / kind->threads : threads;
    if (cache_text(root, index, "coherency_line_size", line, sizeof line)) {
        unsigned value = (unsigned)eg__plausible(log, "cache line", line, 8, EG__LINE_LIMIT);
        if (value > chip->cache_line) chip->cache_line = value;
    }
    if (strcmp(level, "1") == 0 && strcmp(type, "Instruction") == 0) kind->l1i_bytes = bytes;
    else if (strcmp(level, "1") == 0) kind->l1d_bytes = bytes;
    else if (strcmp(level, "2") == 0) {
        kind->l2_bytes = bytes;
        kind->l2_cores = cores ? cores : 1;
    } else if (strcmp(level, "3") == 0) {
        chip->l3_bytes = bytes;
        chip->l3_count = cores ? (unsigned)eg__ceil_div(kind->cores, cores) : 1;
    }
}

void eg__topology_from_files(const char *root, const eg__log *log, const eg__cpuinfo *counts,
                             eg_chip *chip) {
    unsigned cores = counts->cores, threads = counts->processors;
    if (!root && eg__cores_usable(&cores, &threads))
        snprintf(chip->topology_source, sizeof chip->topology_source, "sysfs");
    else if (threads) snprintf(chip->topology_source, sizeof chip->topology_source, "cpuinfo");
    if (!threads) return;
    chip->kind_count = 1;
    chip->kinds[0].cores = cores;
    chip->kinds[0].threads = threads;
    chip->packages = counts->packages;
    for (unsigned index = 0; index < 8; index++) cache_read(root, log, index, chip);
}
