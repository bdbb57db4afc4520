/* Queries: how much memory is held under each tag. */
#include "memory/state.h"

#include <assert.h>
#include <string.h>

const char *eg_tag_name(eg_tag tag) {
    switch (tag) {
#define NAME(name, text) \
    case name: return text;
        EG_TAG_MAP(NAME)
#undef NAME
    case EG_TAG_COUNT: return "all";
    }
    return "unknown";
}

void eg__memory_figures_all(const eg__memory *memory, eg_memory_figures out[EG_TAG_COUNT + 1]) {
    eg__memory_lock(memory);
    memcpy(out, memory->figures, sizeof memory->figures);
    eg__memory_unlock(memory);
}

void eg__memory_figures_get(const eg__memory *memory, eg_tag tag, eg_memory_figures *out) {
    assert((unsigned)tag <= EG_TAG_COUNT);
    eg__memory_lock(memory);
    *out = memory->figures[tag];
    eg__memory_unlock(memory);
}

void eg__memory_pool_figures_get(const eg__memory *memory, eg_memory_pool_figures *out) {
    eg__memory_lock(memory);
    out->budget = memory->budget == UINT64_MAX ? 0 : memory->budget;
    out->cached = memory->pool.cached;
    out->hits = memory->hits;
    out->misses = memory->misses;
    out->refusals = memory->refusals;
    eg__memory_unlock(memory);
}

uint64_t eg__memory_left(const eg__memory *memory) {
    eg__memory_lock(memory);
    const uint64_t used = memory->figures[EG_TAG_COUNT].current + memory->requested;
    const uint64_t left = memory->budget > used ? memory->budget - used : 0;
    const bool limited = memory->budget != UINT64_MAX;
    eg__memory_unlock(memory);
    return limited ? left : UINT64_MAX;
}

void eg__memory_peak_reset(eg__memory *memory) {
    eg__memory_lock(memory);
    for (int tag = 0; tag <= EG_TAG_COUNT; tag++)
        memory->figures[tag].peak = memory->figures[tag].current;
    eg__memory_unlock(memory);
}
