/* Bytes between the levels of memory: counted, simulated, or by the working set; and what bounds a step. */
#include "engine/program.h"
#include "profile/profile.h"

#include <math.h>
#include <string.h>

const char *eg__level_name(int level) {
    static const char *const names[EG__LEVELS] = {"L1", "L2", "L3", "DRAM"};
    return names[level];
}

uint64_t eg__profile_last_cache(const eg_profile *p) {
    return eg__last_cache(&p->context->chip, p->has_ceilings ? &p->ceilings : NULL);
}

/* ---- by the working set: the bytes touched between two uses of the same data decide which level
 * holds it */
static int level_holding(const eg_profile *p, double bytes) {
    const eg_chip *chip = &p->context->chip;
    const double sizes[EG__LEVELS - 1] = {(double)chip->kinds[0].l1d_bytes,
                                          (double)chip->kinds[0].l2_bytes,
                                          (double)eg__profile_last_cache(p)};
    int level = 0;
    while (level < EG__LEVELS - 1 && bytes > sizes[level]) level++;
    return level;
}

double eg__bound_bytes(const eg_program *program) {
    const eg__leaves *const bound[] = {&program->inputs, &program->outputs};
    double bytes = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < bound[i]->count; k++)
            bytes += (double)eg__leaf_bytes(&bound[i]->list[k]);
    return bytes;
}

/* Bytes of the instance, at most those that the steps access: packed weights are touched, the
 * originals are not. */
double eg__working_set(const eg_program *program) {
    eg_program_info info = {.size = sizeof info};
    eg_step_info step = {.size = sizeof step};
    double named = 0;
    eg_program_info_get(program, &info);
    for (size_t i = 0; i < info.run_steps; i++) {
        eg_program_step(program, i, &step, NULL);
        if (!step.body_steps) named += step.bytes;
        for (uint64_t k = 0; k < step.body_steps; k++) {
            eg_step_info inner = {.size = sizeof inner};
            eg_program_step(program, (size_t)(step.body + k), &inner, NULL);
            named += inner.bytes;
        }
    }
    return fmin(named, eg__bound_bytes(program) +
                           (double)(info.arena_bytes + info.held_bytes + info.derived_bytes +
                                    info.constant_bytes + info.state_bytes + info.cache_bytes));
}

static void by_working_set(const eg_profile *p, double between, double step[EG__LEVELS]) {
    const int level = level_holding(p, between);
    for (int i = 1; i <= level; i++) step[i] = step[0];
}

/* Steps of a scan reuse their data after one iteration, all others after a run. */
static void model(eg_profile *p, const eg_program_info *info) {
    eg__traffic *t = &p->traffic;
    const double run = eg__working_set(p->subject.program);
    for (size_t i = 0; i < info->run_steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_program_step(p->subject.program, i, &step, NULL);
        if (!step.body_steps) by_working_set(p, run, t->steps[i]);
        double turn = 0;
        for (uint64_t k = 0; k < step.body_steps; k++)
            turn += t->steps[step.body + k][0] / (double)step.columns;
        for (uint64_t k = 0; k < step.body_steps; k++)
            by_working_set(p, fmin(turn, run), t->steps[step.body + k]);
    }
    t->provenance = EG_MODELLED;
}

/* ---- simulated */
static void simulated_step(const eg_cache_geometry *g, const eg_cache_result *r,
                           double out[EG__LEVELS]) {
    for (unsigned i = 1; i < g->levels; i++)
        out[strcmp(g->level[i].name, "L2") == 0 ? 1 : 2] =
            r->level[i - 1].misses * g->level[i - 1].line;
    out[EG__LEVELS - 1] = r->dram_read.value + r->dram_write.value;
}

static eg_status simulate(eg_profile *p, const eg_program_info *info, eg_error *error) {
    eg__traffic *t = &p->traffic;
    eg_cache_geometry geometry;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_cache_result *steps =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, info->steps + 1, sizeof *steps, &reason);
    if (!steps) return eg__fail(error, reason.status, "%s", reason.message);
    eg_chip chip = p->context->chip;
    if (chip.l3_bytes) { /* as measured: 0 = no last-level cache */
        chip.l3_bytes = eg__profile_last_cache(p);
        chip.slc_bytes = 0;
    }
    eg_status status = eg_cache_geometry_of_chip(&chip, &geometry, error);
    if (!status)
        status = eg_cache_simulate(p->subject.program, &geometry, NULL, &t->cache, steps, error);
    for (size_t i = 0; !status && i < info->steps; i++) {
        eg_step_info step = {.size = sizeof step};
        eg_program_step(p->subject.program, i, &step, NULL);
        if (step.body_steps) continue; /* a scan is the sum of its steps, which have their own */
        simulated_step(&geometry, &steps[i], t->steps[i]);
    }
    eg__memory_give(p->memory, steps);
    if (status) return status;
    t->has_cache = true;
    t->provenance = EG_SIMULATED;
    t->source = "lines that the last simulated cache fetched and gave back";
    return EG_OK;
}

/* ---- counted: the total comes from the processor's counters, its distribution over steps from the
 * model */
static void count(eg_profile *p, const eg_program_info *info) {
    const eg_metric *misses = &p->hardware.cache_misses;
    const double line = p->context->chip.cache_line ? p->context->chip.cache_line : 64;
    eg__traffic *t = &p->traffic;
    enum { LAST = EG__LEVELS - 1 };
    if (misses->provenance == EG_UNAVAILABLE || !p->sample_count) return;
    const double bytes = misses->value * line / (double)p->sample_count;
    /* if the model has no DRAM traffic, distributes by the traffic of nearer levels, or by
     * operands */
    int by = LAST;
    while (by > 0 && !(t->run[by] > 0.01 * bytes)) by--;
    for (size_t i = 0; i < info->steps; i++)
        t->steps[i][LAST] = t->run[by] > 0 ? t->steps[i][by] * bytes / t->run[by] : 0;
    t->provenance = misses->provenance == EG_COUNTED ? EG_MEASURED : misses->provenance;
    t->source = "misses of the last cache, as the processor counts them, times its line";
    t->run[LAST] = bytes;
}

/* ---- together */

/* Every operand passes the first cache. */
static void operands(eg_profile *p, const eg_program_info *info) {
    eg_step_info step = {.size = sizeof step}, inner = {.size = sizeof inner};
    for (size_t i = 0; i < info->run_steps; i++) {
        eg_program_step(p->subject.program, i, &step, NULL);
        if (!step.body_steps) p->traffic.steps[i][0] = step.bytes;
        for (uint64_t k = 0; k < step.body_steps; k++) {
            eg_program_step(p->subject.program, (size_t)(step.body + k), &inner, NULL);
            p->traffic.steps[step.body + k][0] = inner.bytes * (double)step.columns;
        }
    }
}

eg_status eg__traffic_make(eg_profile *p, eg_error *error) {
    eg__traffic *t = &p->traffic;
    eg_program_info info = {.size = sizeof info};
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_program_info_get(p->subject.program, &info);
    t->steps =
        eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1, sizeof *t->steps, &reason);
    if (!t->steps) return eg__fail(error, reason.status, "%s", reason.message);
    operands(p, &info);
    t->source = "operands of steps whose working set no cache holds; caches were not simulated";
    /* unknown caches, or a budget too small to simulate them, do not fail the profile */
    const eg_status status = p->options.no_cache ? EG_ERR_UNSUPPORTED : simulate(p, &info, &reason);
    if (status == EG_ERR_MEMORY) return eg__fail(error, status, "%s", reason.message);
    if (status) model(p, &info);
    for (size_t i = 0; i < info.steps; i++)
        for (int k = 0; k < EG__LEVELS; k++) t->run[k] += t->steps[i][k];
    count(p, &info);
    return EG_OK;
}

/* ---- ceilings */
double eg__level_ceiling(const eg_profile *p, int level) {
    const bool one = eg__threads_count(p->context->threads) == 1;
    const eg_ceilings *c = &p->ceilings;
    const eg_metric *all[EG__LEVELS] = {
        one ? &c->l1_one : &c->l1_all, one ? &c->l2_one : &c->l2_all, one ? &c->l3_one : &c->l3_all,
        one ? &c->dram_one : &c->dram_all};
    double best = NAN;
    if (!p->has_ceilings || all[level]->provenance != EG_MEASURED) return NAN;
    for (int i = level; i < EG__LEVELS; i++)
        if (all[i]->provenance == EG_MEASURED) best = fmax(best, all[i]->value);
    return best;
}

/* int8 kernels do four products per f32 lane, ARM's matrix instructions eight; halves come in pairs. */
double eg__peak_times(const eg_profile *p, uint32_t traits) {
    if (traits & EG_STEP_HALVES) return 2;
    if (!(traits & EG_STEP_INTEGERS)) return 1;
    return eg__isa_named(p->context->kernels.row[EG__OP_gemm_i8i8]->isa)->bytes;
}

const char *eg__bound_find(const eg_profile *p, double compute, const double bytes[EG__LEVELS],
                           double seconds, double *least) {
    const char *bound = "unknown";
    *least = NAN;
    if (compute > 0 && compute <= EG__BEYOND * seconds) {
        *least = compute;
        bound = "compute";
    }
    for (int i = 0; i < EG__LEVELS; i++) {
        const double time = bytes[i] / eg__level_ceiling(p, i) * 1e-9;
        if (!(time > 0) || time > EG__BEYOND * seconds || time < *least) continue;
        *least = time;
        bound = eg__level_name(i);
    }
    return bound;
}
