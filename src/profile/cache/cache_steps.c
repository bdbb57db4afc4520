/* Which accesses which step makes; the loop over steps, and over the time of scans. */
#include "profile/cache/cache_steps.h"

#include <string.h>

size_t eg__cache_lanes(const eg__cache_walk *w, eg__operation operation) {
    for (unsigned i = 0; w->step && i < EG__STEP_KERNELS; i++)
        if (w->step->kernel[i] && w->step->kernel[i]->operation == operation)
            return w->step->kernel[i]->lanes;
    return w->program->kernels->row[operation]->lanes;
}

/* The C library has vectors of 32 bytes where there is AVX, else of 16. */
size_t eg__cache_copy_lanes(const eg__cache_walk *w) {
    return eg__cache_lanes(w, EG__OP_gemm_f32) >= 8 ? 8 : 4;
}

void eg__cache_read_row(const eg__cache_walk *w, uint64_t at, size_t n, size_t lanes) {
    for (size_t i = 0; i < n; i += lanes)
        eg__cache_read(w, at + i * sizeof(float), eg__min(lanes, n - i));
}

void eg__cache_write_row(const eg__cache_walk *w, uint64_t at, size_t n, size_t lanes) {
    for (size_t i = 0; i < n; i += lanes)
        eg__cache_write(w, at + i * sizeof(float), eg__min(lanes, n - i));
}

void eg__cache_copy_row(const eg__cache_walk *w, uint64_t from, uint64_t to, size_t n,
                        size_t lanes) {
    for (size_t i = 0; i < n; i += lanes) {
        eg__cache_read(w, from + i * sizeof(float), eg__min(lanes, n - i));
        eg__cache_write(w, to + i * sizeof(float), eg__min(lanes, n - i));
    }
}

int64_t eg__cache_index(const eg__cache_walk *w, const eg__operand *list, size_t i, size_t limit) {
    if (list->space == EG__SPACE_CONSTANTS) {
        int32_t value;
        memcpy(&value, w->program->constants + list->offset + i * sizeof value, sizeof value);
        return value;
    }
    uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return limit ? (int64_t)((hash ^ hash >> 29) % limit) : -1;
}

#define eg__cache_step_none NULL
static eg__cache_step *const accesses[EG__STEP_COUNT] = {
#define STEP(kind, label, work, one, traits, cut, scratch, shape, cost, c, accesses, ...) \
    eg__cache_step_##accesses,
#include "graph/steps/steps.def"
};

/* Reading the step's own description counts, too: beside a small kernel it matters. */
static void description_read(const eg__cache_walk *w, const eg__step *step) {
    enum { WORD = 8 };
    const uint64_t at = w->steps + (uint64_t)(step - w->program->steps) * sizeof *step;
    const uint64_t operands = w->operands + step->first_operand * sizeof(eg__operand);
    for (size_t i = 0; i < offsetof(eg__step, u); i += WORD)
        eg__cache_access(w->cache, at + i, WORD, false);
    for (size_t i = 0; i < step->operands * sizeof(eg__operand); i += WORD)
        eg__cache_access(w->cache, operands + i, WORD, false);
}

static void step_one(eg__cache_walk *w, const eg__step *step) {
    w->cache->counts = &w->counts[step - w->program->steps];
    w->step = step;
    description_read(w, step);
    if (accesses[step->kind]) accesses[step->kind](w, step);
}

static void block_scan(eg__cache_walk *w, const eg__step *step) {
    const eg__step_scan *scan = &step->u.scan;
    const size_t length = scan->length ? scan->length : w->length;
    for (size_t t = 0; t < length; t++) {
        w->time = scan->reverse ? length - 1 - t : t;
        for (uint32_t i = 0; i < scan->count; i++) {
            const eg__step *inner = &w->program->steps[scan->first + i];
            if (step->items == 1) w->count = inner->items; /* a body that is not cut */
            step_one(w, inner);
        }
    }
}

static void step_scan(const eg__cache_walk *outer, const eg__step *step) {
    eg__cache_walk w = *outer;
    const size_t block = step->u.scan.block, blocks = eg__max(outer->count / block, 1);
    for (size_t i = 0; i < blocks; i++) {
        w.first = i * block;
        w.count = i + 1 < blocks ? block : outer->count - w.first;
        block_scan(&w, step);
    }
}

void eg__cache_walk_run(eg__cache_walk *w) {
    for (size_t i = 0; i < w->program->main_count; i++) {
        const eg__step *step = &w->program->steps[i];
        w->time = w->length;
        w->count = eg__step_items(step, w->length);
        if (eg__step_body(step)) step_scan(w, step);
        else step_one(w, step);
    }
}
