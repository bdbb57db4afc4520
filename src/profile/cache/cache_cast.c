/* The accesses of a cast: vectors of eight numbers, or of four, read and written. */
#include "profile/cache/cache_steps.h"

void eg__cache_step_cast(const eg__cache_walk *w, const eg__step *step) {
    const eg__operand *from = &step->operand[0], *to = &step->operand[1];
    const size_t lanes = step->kernel[0]->lanes, a = eg__element_size(from->type),
                 b = eg__element_size(to->type);
    for (size_t r = 0; r < w->count * step->rows; r++) {
        const uint64_t x = eg__cache_at(w, from) + r * from->stride * a;
        const uint64_t y = eg__cache_at(w, to) + r * to->stride * b;
        for (size_t i = 0; i < step->columns; i += lanes) {
            const size_t n = eg__min(lanes, step->columns - i);
            eg__cache_access(w->cache, x + i * a, (unsigned)(n * a), false);
            eg__cache_access(w->cache, y + i * b, (unsigned)(n * b), true);
        }
    }
}
