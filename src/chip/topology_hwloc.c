/* Cores, caches, packages and memory nodes through hwloc: of this machine, or of an exported XML. */
#include "chip/detect.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

static bool xml_allowed(const char *root, const eg__log *log) {
    eg__text file;
    if (!eg__root_open(root, "hwloc.xml", &file)) return false;
    const char *fault = eg__hwloc_xml_fault(&file);
    eg__root_close(&file);
    if (fault)
        eg__log_write(log, EG_LOG_WARNING, "chip: '%s/hwloc.xml' is ignored: it has %s", root,
                      fault);
    return !fault;
}

static bool topology_load(const char *root, const eg__log *log, hwloc_topology_t *out) {
    char path[1024] = "";
    if (root) {
        if (!xml_allowed(root, log)) return false;
        snprintf(path, sizeof path, "%s/hwloc.xml", root);
    }
    if (hwloc_topology_init(out)) return false;
    /* instruction caches are left out unless asked for */
    if (hwloc_topology_set_icache_types_filter(*out, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
        (!root || hwloc_topology_set_xml(*out, path) == 0) && hwloc_topology_load(*out) == 0)
        return true;
    hwloc_topology_destroy(*out);
    eg__log_write(log, EG_LOG_WARNING, "chip: hwloc does not understand this machine%s%s",
                  root ? " in " : "", path);
    return false;
}

/* The processors that control groups allow and, on this machine, the affinity of this thread, which
 * the workers it starts inherit. The union over the process would count bystanders' processors. */
static hwloc_bitmap_t usable_find(hwloc_topology_t topology, bool live, bool *no_memory) {
    hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    *no_memory = !usable || !bound;
    errno = 0;
    const bool known =
        live && !*no_memory && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_THREAD) == 0;
    if (errno == ENOMEM || (known && hwloc_bitmap_intersects(usable, bound) &&
                            hwloc_bitmap_and(usable, usable, bound) != 0))
        *no_memory = true;
    hwloc_bitmap_free(bound);
    return usable;
}

static unsigned count_inside(hwloc_topology_t topology, hwloc_const_bitmap_t set,
                             hwloc_obj_type_t type) {
    unsigned count = 0;
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)))
        if (object->cpuset && hwloc_bitmap_intersects(object->cpuset, set)) count++;
    return count;
}

/* The cache of that type over the first processor of a set; its size, or 0. */
static uint64_t cache_find(hwloc_topology_t topology, hwloc_const_bitmap_t set,
                           hwloc_obj_type_t type, const eg__log *log, hwloc_obj_t *out) {
    int first = hwloc_bitmap_first(set);
    hwloc_obj_t cache = NULL;
    *out = NULL;
    while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)))
        if (cache->attr && first >= 0 && hwloc_bitmap_isset(cache->cpuset, (unsigned)first)) {
            *out = cache;
            return eg__plausible_number(log, "cache size", cache->attr->cache.size, 64,
                                        EG__CACHE_LIMIT);
        }
    return 0;
}

static void line_keep(hwloc_obj_t cache, eg_chip *chip) {
    unsigned line = cache && cache->attr ? cache->attr->cache.linesize : 0;
    if (line > chip->cache_line && line <= EG__LINE_LIMIT) chip->cache_line = line;
}

static void kind_describe(hwloc_topology_t topology, hwloc_const_bitmap_t set, const eg__log *log,
                          eg_chip *chip, eg_core_kind *kind) {
    hwloc_obj_t cache;
    kind->threads = (unsigned)hwloc_bitmap_weight(set);
    kind->cores = count_inside(topology, set, HWLOC_OBJ_CORE);
    if (!kind->cores || kind->cores > kind->threads) kind->cores = kind->threads;
    kind->l1i_bytes = cache_find(topology, set, HWLOC_OBJ_L1ICACHE, log, &cache);
    kind->l1d_bytes = cache_find(topology, set, HWLOC_OBJ_L1CACHE, log, &cache);
    line_keep(cache, chip);
    kind->l2_bytes = cache_find(topology, set, HWLOC_OBJ_L2CACHE, log, &cache);
    line_keep(cache, chip);
    if (kind->l2_bytes) {
        kind->l2_cores = count_inside(topology, cache->cpuset, HWLOC_OBJ_CORE);
        if (!kind->l2_cores) kind->l2_cores = (unsigned)hwloc_bitmap_weight(cache->cpuset);
    }
}

static const char *info_find(struct hwloc_info_s *infos, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(infos[i].name, name) == 0) return infos[i].value;
    return "";
}

static void kind_name(eg_core_kind *kind, const char *type) {
    const char *name = strcmp(type, "IntelCore") == 0   ? "Performance"
                       : strcmp(type, "IntelAtom") == 0 ? "Efficiency"
                                                        : "";
    snprintf(kind->name, sizeof kind->name, "%s", name);
}

static int by_speed(const void *a, const void *b) {
    double x = ((const eg_core_kind *)a)->max_mhz, y = ((const eg_core_kind *)b)->max_mhz;
    return (x < y) - (x > y);
}

/* One of hwloc's kinds, cut to what is usable; false when nothing is left or there is no room. */
static bool kind_add(hwloc_topology_t topology, unsigned index, hwloc_const_bitmap_t usable,
                     const eg__log *log, eg_chip *chip, bool *ranked, bool *no_memory) {
    struct hwloc_info_s *infos = NULL;
    unsigned count = 0;
    int efficiency = -1;
    bool added = false;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    errno = 0;
    if (set && hwloc_cpukinds_get_info(topology, index, set, &efficiency, &count, &infos, 0) == 0) {
        if (hwloc_bitmap_and(set, set, usable) != 0) *no_memory = true;
        added = !hwloc_bitmap_iszero(set) && chip->kind_count < EG_CORE_KINDS_MAX;
    }
    if (!set || errno == ENOMEM) *no_memory = true;
    if (added) {
        eg_core_kind *kind = &chip->kinds[chip->kind_count++];
        kind_describe(topology, set, log, chip, kind);
        kind_name(kind, info_find(infos, count, "CoreType"));
        kind->max_mhz = (double)eg__plausible(
            log, "clock in MHz", info_find(infos, count, "FrequencyMaxMHz"), 1, 100000);
        *ranked = *ranked && efficiency >= 0;
    }
    hwloc_bitmap_free(set);
    return added;
}

static void kinds_read(hwloc_topology_t topology, hwloc_const_bitmap_t usable, const eg__log *log,
                       eg_chip *chip, bool *no_memory) {
    int count = hwloc_cpukinds_get_nr(topology, 0);
    unsigned threads = 0, all = (unsigned)hwloc_bitmap_weight(usable);
    bool ranked = true;
    for (int i = count - 1; i >= 0; i--) /* hwloc puts the fastest last */
        if (kind_add(topology, (unsigned)i, usable, log, chip, &ranked, no_memory))
            threads += chip->kinds[chip->kind_count - 1].threads;
    if (threads == all) {
        if (!ranked) qsort(chip->kinds, chip->kind_count, sizeof *chip->kinds, by_speed);
        return;
    }
    /* no kinds, or kinds that leave processors out: all are one kind */
    memset(chip->kinds, 0, sizeof chip->kinds);
    chip->kind_count = 1;
    kind_describe(topology, usable, log, chip, &chip->kinds[0]);
}

static void machine_read(hwloc_topology_t topology, const eg__log *log, eg_chip *chip) {
    int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    int caches = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE);
    chip->packages = packages > 0 ? (unsigned)packages : 0;
    chip->numa_nodes = nodes > 0 ? (unsigned)nodes : 0;
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, 0);
    if (cache && cache->attr)
        chip->l3_bytes =
            eg__plausible_number(log, "cache size", cache->attr->cache.size, 64, EG__CACHE_LIMIT);
    chip->l3_count = chip->l3_bytes && caches > 0 ? (unsigned)caches : 0;
    hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, 0);
    if (node && node->attr && node->attr->numanode.page_types_len)
        chip->page_size = (unsigned)eg__plausible_number(
            log, "page size", node->attr->numanode.page_types[0].size, 512, EG__PAGE_LIMIT);
}

/* The library's own version stands in the topology; its interface only knows that of the interface. */
static void source_name(hwloc_topology_t topology, eg_chip *chip) {
    const char *version = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "hwlocVersion");
    char clean[24] = "";
    if (version) eg__text_clean(clean, sizeof clean, version, strlen(version));
    snprintf(chip->topology_source, sizeof chip->topology_source, "hwloc%s%s", clean[0] ? " " : "",
             clean);
}

eg_status eg__topology_read(const char *root, const eg__log *log, eg_chip *chip, bool *told,
                            eg_error *error) {
    hwloc_topology_t topology;
    bool no_memory;
    *told = false;
    if (!topology_load(root, log, &topology)) return EG_OK;
    hwloc_bitmap_t usable = usable_find(topology, !root, &no_memory);
    *told = !no_memory && hwloc_bitmap_weight(usable) > 0;
    if (*told) {
        kinds_read(topology, usable, log, chip, &no_memory);
        machine_read(topology, log, chip);
        source_name(topology, chip);
    }
    hwloc_bitmap_free(usable);
    hwloc_topology_destroy(topology);
    return no_memory ? eg__fail(error, EG_ERR_MEMORY, "no memory for hwloc's sets") : EG_OK;
}
