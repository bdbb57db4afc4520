/* A software cache simulator: hits and misses of each level for a sequence of addresses. */
#ifndef EG__CACHE_H
#define EG__CACHE_H

#include "elegans/profile.h"
#include "memory/memory.h"

typedef struct eg__cache_level {
    uint64_t *line; /* [sets][ways], most recently used first */
    uint64_t sets;
    uint64_t mask; /* sets - 1 where that is a power of two, else 0 */
    unsigned ways, shift;
} eg__cache_level;

/* Counts: all accesses; misses of the sampled sets. */
typedef struct eg__cache_counts {
    uint64_t all, bytes;
    uint64_t misses[EG_CACHE_LEVELS];
    uint64_t fetched, written; /* lines that the last level read from memory and wrote back */
} eg__cache_counts;

typedef struct eg__cache {
    eg__memory *memory;
    unsigned levels;
    eg__cache_level level[EG_CACHE_LEVELS];
    unsigned first_shift, group_shift;
    uint64_t group_mask,
        limit; /* groups of sets; those whose hash is below the limit are sampled */
    /* where to count: owned by the caller, who may change it at any time */
    eg__cache_counts *counts;
} eg__cache;

/* `sampling`: a power of two; made smaller where the first level has fewer sets than that. */
eg_status eg__cache_create(eg__cache *cache, eg__memory *memory, const eg_cache_geometry *geometry,
                           unsigned sampling, eg_error *error);
void eg__cache_destroy(eg__cache *cache);

/* Looks up the line of `address` at all levels; returns how many of them missed. */
unsigned eg__cache_touch(eg__cache *cache, uint64_t address, bool write);

/* Groups of sets are the same at every level, so that a group is sampled at all levels or none. */
static inline bool eg__cache_is_seen(const eg__cache *cache, uint64_t address) {
    const uint64_t group = (address >> cache->group_shift) & cache->group_mask;
    return ((group * 39) & cache->group_mask) <
           cache->limit; /* odd: every group has its own hash */
}

/* One load or store of `bytes` bytes, which is not more than a line. If it touches two lines, the
 * farther one counts. */
static inline void eg__cache_access(eg__cache *cache, uint64_t address, unsigned bytes,
                                    bool write) {
    const uint64_t last = address + bytes - 1;
    unsigned missed = 0;
    cache->counts->all++;
    cache->counts->bytes += bytes;
    if (eg__cache_is_seen(cache, address)) missed = eg__cache_touch(cache, address, write);
    if (address >> cache->first_shift != last >> cache->first_shift &&
        eg__cache_is_seen(cache, last)) {
        const unsigned second = eg__cache_touch(cache, last, write);
        missed = second > missed ? second : missed;
    }
    for (unsigned i = 0; i < missed; i++) cache->counts->misses[i]++;
}

/* Adds to *out, with misses scaled up from the sampled sets. */
void eg__cache_figures_add(const eg__cache *cache, const eg__cache_counts *counts,
                           eg_cache_result *out);
/* Rates and provenance, once everything is added. */
void eg__cache_figures_end(const eg__cache *cache, eg_cache_result *out);

#endif
