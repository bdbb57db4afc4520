/* How much memory there is and how much is left: /proc/meminfo and the limits of control groups. */
#include "chip/detect.h"

#include <string.h>

/* One controller hierarchy: version 2, or version 1's memory controller. */
typedef struct hierarchy {
    const char *base, *limit, *usage, *reclaimable;
} hierarchy;

static const hierarchy version2 = {"sys/fs/cgroup", "memory.max", "memory.current",
                                   "inactive_file"};
static const hierarchy version1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                   "memory.usage_in_bytes", "total_inactive_file"};

/* "MemTotal:  24684100 kB" */
static uint64_t kilobytes(const eg__log *log, const char *what, char *value) {
    char *unit = strchr(value, ' ');
    if (unit) *unit = 0;
    return eg__plausible(log, what, value, EG__MEMORY_LEAST / 1024, EG__MEMORY_LIMIT / 1024) * 1024;
}

static void read_meminfo(const char *root, const eg__log *log, uint64_t *total,
                         uint64_t *available) {
    eg__text file;
    const bool there = eg__root_open(root, "proc/meminfo", &file);
    char line[256], *key, *value;
    while (there && eg__line_read(&file, line, sizeof line)) {
        if (!eg__line_split(line, &key, &value)) continue;
        if (strcmp(key, "MemTotal") == 0) *total = kilobytes(log, "memory size", value);
        if (strcmp(key, "MemAvailable") == 0)
            *available = kilobytes(log, "available memory", value);
    }
    eg__root_close(&file);
    if (!*total) eg__log_write(log, EG_LOG_WARNING, "chip: memory size is not told");
    if (*total && *available > *total) {
        eg__log_write(log, EG_LOG_WARNING,
                      "chip: more memory available than installed, taken as not told");
        *available = 0;
    }
}

/* The group of this process: "0::/path" in version 2, "4:memory:/path" in version 1. A recorded
 * machine without that file, and a container that sees itself as the top, have the top group. */
static void group_find(const char *root, bool first, char *path, size_t size) {
    eg__text file;
    const bool there = eg__root_open(root, "proc/self/cgroup", &file);
    char line[1024];
    path[0] = 0;
    while (there && eg__line_read(&file, line, sizeof line)) {
        char *controllers = strchr(line, ':'), *group = controllers;
        if (group) group = strchr(controllers + 1, ':');
        if (!group) continue;
        *group++ = 0;
        controllers++;
        bool is_memory = strcmp(controllers, "memory") == 0 || strstr(controllers, ",memory") ||
                         strncmp(controllers, "memory,", 7) == 0;
        if (first ? is_memory : !controllers[0]) snprintf(path, size, "%s", group);
    }
    eg__root_close(&file);
    if (strstr(path, "..") || strcmp(path, "/") == 0) path[0] = 0;
}

static bool group_number(const char *root, const char *folder, const char *name, uint64_t *out) {
    char path[1024];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && eg__root_number(root, path, out);
}

/* File pages that nobody used lately count as used memory but are given up on demand. */
static uint64_t group_reclaimable(const char *root, const char *folder, const char *key) {
    char path[1024], line[256];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    eg__text file;
    const bool there = eg__root_open(root, path, &file);
    uint64_t bytes = 0;
    size_t length = strlen(key);
    while (there && eg__line_read(&file, line, sizeof line))
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            if (!eg__text_number(line + length + 1, &bytes)) bytes = 0;
    eg__root_close(&file);
    return bytes;
}

static void apply_group(const char *root, const hierarchy *h, const char *folder, uint64_t *total,
                        uint64_t *available) {
    uint64_t limit, used = 0;
    /* "max" is no number, and version 1 says unlimited with a number beyond any memory */
    if (!group_number(root, folder, h->limit, &limit) || limit == 0 || limit > EG__MEMORY_LIMIT)
        return;
    if (*total == 0 || limit < *total) *total = limit;
    if (!group_number(root, folder, h->usage, &used)) used = 0;
    uint64_t reclaimable = group_reclaimable(root, folder, h->reclaimable);
    used -= reclaimable < used ? reclaimable : used;
    uint64_t left = limit > used ? limit - used : 0;
    if (*available && left < *available) *available = left ? left : 1; /* 0 would be "not told" */
}

/* A limit of any group above counts, too. */
static void apply_hierarchy(const char *root, bool first, uint64_t *total, uint64_t *available) {
    const hierarchy *h = first ? &version1 : &version2;
    char group[512], folder[640];
    group_find(root, first, group, sizeof group);
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", h->base, group);
        apply_group(root, h, folder, total, available);
        char *slash = strrchr(group, '/');
        if (!slash) return;
        *slash = 0;
    }
}

void eg__meminfo_read(const char *root, const eg__log *log, uint64_t *total, uint64_t *available) {
    *total = *available = 0;
    read_meminfo(root, log, total, available);
    apply_hierarchy(root, false, total, available);
    apply_hierarchy(root, true, total, available);
}
