/* Levels of a cache: LRU, write-allocate. */
#include "profile/cache/cache.h"

#include <math.h>
#include <string.h>

/* A line is stored as 2 * number + 1, plus this bit when it is dirty; 0 is an empty way. */
enum { DIRTY = 1 };

static bool is_power_of_two(uint64_t n) { return n && !(n & (n - 1)); }

static unsigned log2_of(uint64_t n) {
    unsigned bits = 0;
    while (n >>= 1) bits++;
    return bits;
}

/* ---- lifetime */
static eg_status check(const eg_cache_geometry *g, unsigned sampling, eg_error *error) {
    if (!g->levels || g->levels > EG_CACHE_LEVELS)
        return eg__fail(error, EG_ERR_ARGUMENT, "a cache of %u levels is not supported", g->levels);
    if (!is_power_of_two(sampling))
        return eg__fail(error, EG_ERR_ARGUMENT, "sampling one of %u sets: not a power of two",
                        sampling);
    for (unsigned i = 0; i < g->levels; i++) {
        const eg_cache_level *level = &g->level[i];
        if (!is_power_of_two(level->line) || level->line < 64 || level->line > 4096 ||
            (i && level->line < level[-1].line))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "cache '%.7s': lines of %u bytes are not supported", level->name,
                            level->line);
        if (!level->ways || level->ways > 1024 || !level->bytes ||
            level->bytes % ((uint64_t)level->ways * level->line))
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "cache '%.7s': %llu bytes are not whole sets of %u ways", level->name,
                            (unsigned long long)level->bytes, level->ways);
        if (level->bytes > (uint64_t)1 << 32)
            return eg__fail(error, EG_ERR_ARGUMENT, "cache '%.7s': %llu bytes are too large",
                            level->name, (unsigned long long)level->bytes);
    }
    return EG_OK;
}

/* The number of groups divides the sets of every level, at most 64. */
static uint64_t group_count(const eg__cache *c) {
    uint64_t groups = 64;
    for (unsigned i = 0; i < c->levels; i++)
        while (groups > 1 && (c->level[i].sets << c->level[i].shift) % (groups << c->group_shift))
            groups /= 2;
    return groups;
}

eg_status eg__cache_create(eg__cache *c, eg__memory *memory, const eg_cache_geometry *g,
                           unsigned sampling, eg_error *error) {
    memset(c, 0, sizeof *c);
    eg_status status = check(g, sampling, error);
    if (status) return status;
    c->memory = memory;
    c->levels = g->levels;
    eg_error reason = {EG_ERR_MEMORY, ""};
    for (unsigned i = 0; i < g->levels; i++) {
        eg__cache_level *level = &c->level[i];
        level->ways = g->level[i].ways;
        level->shift = log2_of(g->level[i].line);
        level->sets = g->level[i].bytes / g->level[i].line / level->ways;
        level->mask = is_power_of_two(level->sets) ? level->sets - 1 : 0;
        level->line = eg__memory_take_array(memory, EG_TAG_OTHER, (size_t)level->sets * level->ways,
                                            sizeof *level->line, &reason);
        if (!level->line) {
            eg__cache_destroy(c);
            return eg__fail(error, reason.status, "%s", reason.message);
        }
    }
    c->first_shift = c->level[0].shift;
    c->group_shift = c->level[c->levels - 1].shift;
    const uint64_t groups = group_count(c);
    c->group_mask = groups - 1;
    c->limit = groups > sampling ? groups / sampling : 1;
    return EG_OK;
}

void eg__cache_destroy(eg__cache *c) {
    for (unsigned i = 0; i < c->levels; i++) eg__memory_give(c->memory, c->level[i].line);
    c->levels = 0;
}

/* ---- lookup */
static uint64_t *set_of(const eg__cache_level *level, uint64_t line) {
    const uint64_t set = level->mask ? line & level->mask : line % level->sets;
    return level->line + set * level->ways;
}

/* The way of a line in its set; `ways` = not present. */
static unsigned find(const eg__cache_level *level, const uint64_t *set, uint64_t line) {
    unsigned at = 0;
    while (at < level->ways && set[at] >> 1 != line + 1) at++;
    return at;
}

static void move_first(uint64_t *set, unsigned at, uint64_t entry) {
    memmove(set + 1, set, at * sizeof *set);
    set[0] = entry;
}

/* A dirty line was evicted from level `from`: marks it dirty in the next level that has it. */
static void give_back(eg__cache *c, unsigned from, uint64_t address) {
    for (unsigned i = from + 1; i < c->levels; i++) {
        const uint64_t line = address >> c->level[i].shift;
        uint64_t *set = set_of(&c->level[i], line);
        const unsigned at = find(&c->level[i], set, line);
        if (at == c->level[i].ways) continue;
        set[at] |= DIRTY;
        return;
    }
    c->counts->written++;
}

static bool level_touch(eg__cache *c, unsigned i, uint64_t address, bool write) {
    const eg__cache_level *level = &c->level[i];
    const uint64_t line = address >> level->shift;
    uint64_t *set = set_of(level, line);
    if (set[0] >> 1 == line + 1) { /* most often */
        set[0] |= write;
        return true;
    }
    const unsigned at = find(level, set, line);
    if (at < level->ways) {
        move_first(set, at, set[at] | write);
        return true;
    }
    const uint64_t gone = set[level->ways - 1];
    move_first(set, level->ways - 1, (line + 1) << 1 | write);
    if (gone & DIRTY) give_back(c, i, ((gone >> 1) - 1) << level->shift);
    return false;
}

/* Only the first level sees writes; the others learn of them when the line is evicted. */
unsigned eg__cache_touch(eg__cache *c, uint64_t address, bool write) {
    for (unsigned i = 0; i < c->levels; i++)
        if (level_touch(c, i, address, write && i == 0)) return i;
    c->counts->fetched++;
    return c->levels;
}

/* ---- figures */
void eg__cache_figures_add(const eg__cache *c, const eg__cache_counts *counts,
                           eg_cache_result *out) {
    /* misses spread evenly over the sets, accesses do not: a few lines may be read all the time */
    const double scale = (double)(c->group_mask + 1) / (double)c->limit;
    double accesses = (double)counts->all;
    for (unsigned i = 0; i < c->levels; i++) {
        out->level[i].accesses += accesses;
        accesses = fmin(accesses, (double)counts->misses[i] * scale);
        out->level[i].misses += accesses;
    }
    out->bytes += (double)counts->bytes;
    const double line = (double)((uint64_t)1 << c->group_shift);
    out->dram_read.value += (double)counts->fetched * scale * line;
    out->dram_write.value += (double)counts->written * scale * line;
}

void eg__cache_figures_end(const eg__cache *c, eg_cache_result *out) {
    static const char source[] = "simulated cache, the kernels' access patterns, no prefetching";
    out->levels = c->levels;
    for (unsigned i = 0; i < c->levels; i++) {
        eg_cache_figures *level = &out->level[i];
        level->hit_rate = level->accesses > 0 ? eg__metric(1 - level->misses / level->accesses,
                                                           NULL, EG_SIMULATED, source)
                                              : eg__metric_unavailable(NULL, "no accesses");
    }
    out->dram_read = eg__metric(out->dram_read.value, "bytes", EG_SIMULATED, source);
    out->dram_write = eg__metric(out->dram_write.value, "bytes", EG_SIMULATED, source);
}
