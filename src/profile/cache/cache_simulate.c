/* Runs a program through a simulated cache: addresses of its memory, warm-up, results. */
#include "base/abi.h"
#include "engine/program.h"
#include "profile/cache/cache_steps.h"

#include <string.h>

enum { SAMPLING = 8, WARM = 1 };
#define MANY 3e7 /* accesses that take a second */

/* ---- memory as an instance has it */
typedef struct layout {
    uint64_t next;
} layout;

/* After the header of its block; large blocks begin at a page, as the system allocates them. */
static uint64_t place(layout *l, uint64_t bytes) {
    enum { LINE = 64, PAGE = 4096, LARGE = 131072 };
    if (bytes >= LARGE) l->next = (l->next + PAGE - 1) / PAGE * PAGE;
    const uint64_t at = l->next + LINE;
    l->next = at + (bytes + LINE) / LINE * LINE;
    return at;
}

static void place_spaces(const eg_program *p, uint64_t *base, eg__cache_walk *w) {
    layout l = {.next = 1 << 20};
    base[EG__SPACE_ARENA] = place(&l, p->arena_size);
    base[EG__SPACE_STATES] = place(&l, p->states_size);
    base[EG__SPACE_CACHES] = place(&l, p->caches_size);
    base[EG__SPACE_PARAMETERS] = place(&l, p->parameters_size);
    base[EG__SPACE_DERIVED] = place(&l, p->derived_size);
    base[EG__SPACE_CONSTANTS] = place(&l, p->constants_size);
    w->scratch = place(&l, p->scratch_size * sizeof(float));
    for (size_t i = 0; i < p->inputs.count; i++)
        base[EG__SPACE_BOUND + i] = place(&l, eg__leaf_bytes(&p->inputs.list[i]));
    for (size_t i = 0; i < p->outputs.count; i++)
        base[EG__SPACE_BOUND + p->inputs.count + i] =
            place(&l, eg__leaf_bytes(&p->outputs.list[i]));
    w->stack = place(&l, EG__CACHE_STACK);
    w->steps = place(&l, p->step_count * sizeof *p->steps);
    w->operands = place(&l, p->operand_count * sizeof *p->operands);
}

/* ---- figures */
static void figures_sum(eg_cache_result *to, const eg_cache_result *from) {
    for (unsigned i = 0; i < EG_CACHE_LEVELS; i++) {
        to->level[i].accesses += from->level[i].accesses;
        to->level[i].misses += from->level[i].misses;
    }
    to->bytes += from->bytes;
    to->dram_read.value += from->dram_read.value;
    to->dram_write.value += from->dram_write.value;
}

/* One step; a scan is the sum of its body. */
static eg_cache_result figures_of(const eg__cache_walk *w, size_t step) {
    const eg__step *s = &w->program->steps[step];
    eg_cache_result result = {0};
    const eg__step_scan *scan = eg__step_body(s);
    if (!scan) {
        eg__cache_figures_add(w->cache, &w->counts[step], &result);
        return result;
    }
    for (uint32_t i = 0; i < scan->count; i++)
        eg__cache_figures_add(w->cache, &w->counts[scan->first + i], &result);
    return result;
}

static void figures_fill(const eg__cache_walk *w, eg_cache_result *out, eg_cache_result *steps) {
    const eg_program *p = w->program;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < p->step_count; i++) {
        eg_cache_result one = figures_of(w, i);
        if (i < p->main_count) figures_sum(out, &one);
        if (!steps) continue;
        steps[i] = one;
        if (one.level[0].accesses > 0) eg__cache_figures_end(w->cache, &steps[i]);
    }
    eg__cache_figures_end(w->cache, out);
}

/* ---- the run */
static eg_status simulate(const eg_program *p, eg__cache *cache, const eg_cache_options *options,
                          eg_cache_result *out, eg_cache_result *steps, eg_error *error) {
    const size_t spaces = EG__SPACE_BOUND + p->inputs.count + p->outputs.count;
    const unsigned warm = options->cold ? 0 : options->warm ? options->warm : WARM;
    eg_error reason = {EG_ERR_MEMORY, ""};
    uint64_t *base = eg__memory_take_array(p->memory, EG_TAG_OTHER, spaces, sizeof *base, &reason);
    eg__cache_counts *counts =
        eg__memory_take_array(p->memory, EG_TAG_OTHER, p->step_count + 1, sizeof *counts, &reason);
    if (base && counts) {
        eg__cache_walk w = {.cache = cache,
                            .program = p,
                            .counts = counts,
                            .base = base,
                            .length = options->length ? (size_t)options->length : p->length};
        place_spaces(p, base, &w);
        for (unsigned i = 0; i < warm; i++) eg__cache_walk_run(&w);
        memset(counts, 0, (p->step_count + 1) * sizeof *counts);
        eg__cache_walk_run(&w);
        figures_fill(&w, out, steps);
    }
    const bool done = base && counts;
    eg__memory_give(p->memory, base);
    eg__memory_give(p->memory, counts);
    return done ? EG_OK : eg__fail(error, reason.status, "%s", reason.message);
}

/* The sampling rate: small programs use all sets, because a sample of a few lines is not
 * representative. The number of accesses is estimated: a vector of a product serves about two dozen
 * operations, a moved one is one access. */
static unsigned sampling_of(const eg_program *p) {
    double accesses = 0;
    for (size_t i = 0; i < p->main_count; i++)
        accesses += p->steps[i].flops / 24 + p->steps[i].bytes / 16;
    return accesses > MANY ? SAMPLING : 1;
}

eg_status eg_cache_simulate(const eg_program *program, const eg_cache_geometry *geometry,
                            const eg_cache_options *given, eg_cache_result *out,
                            eg_cache_result *steps, eg_error *error) {
    if (!program || !geometry || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "cache: no program, geometry or output pointer");
    eg_cache_options kept, *const options = &kept;
    const eg_status taken = EG__OPTIONS(eg_cache_options, &kept, given, error);
    if (taken) return taken;
    if (options->length > program->length)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a run of %llu steps is not within 1..%zu, which the program "
                        "was compiled for",
                        (unsigned long long)options->length, program->length);
    eg__cache cache;
    eg_status status =
        eg__cache_create(&cache, program->memory, geometry,
                         options->sampling ? options->sampling : sampling_of(program), error);
    if (status) return status;
    status = simulate(program, &cache, options, out, steps, error);
    eg__cache_destroy(&cache);
    return status;
}
