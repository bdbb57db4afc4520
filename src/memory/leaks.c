/* Leak checks: what is held now against what was held at a mark. */
#include "memory/memory.h"

void eg__memory_mark_get(const eg__memory *memory, eg_memory_mark *out) {
    eg_memory_figures figures[EG_TAG_COUNT + 1];
    eg__memory_figures_all(memory, figures);
    for (int tag = 0; tag < EG_TAG_COUNT; tag++) out->current[tag] = figures[tag].current;
    out->total = figures[EG_TAG_COUNT].current;
}

void eg__memory_growth_get(const eg__memory *memory, const eg_memory_mark *mark, uint64_t tolerance,
                           eg_memory_growth *out) {
    eg_memory_mark now;
    eg__memory_mark_get(memory, &now);
    for (int tag = 0; tag < EG_TAG_COUNT; tag++)
        out->by_tag[tag] = (int64_t)(now.current[tag] - mark->current[tag]);
    out->total = (int64_t)(now.total - mark->total);
    out->leaked = out->total > 0 && (uint64_t)out->total > tolerance;
}
