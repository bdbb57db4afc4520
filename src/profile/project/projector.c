/* A model on other chips at any batch: projected at 1, 2, 4, ... samples, and in between by a straight line,
 * so that more samples never take less time, nor more per sample. */
#include "base/abi.h"
#include "nn/model.h"
#include "profile/project/project.h"
#include "profile/subject.h"

#include <math.h>

enum { RUNGS = 21 }; /* up to 2^20 samples */
typedef struct rung {
    eg_step_cost *costs;
    size_t count;
} rung;
struct eg_projector {
    eg__memory *memory;
    size_t count;
    rung rungs[RUNGS]; /* of 1, 2, 4, ... samples */
};

static eg_status rung_fill(eg_projector *p, eg_model *model, const eg_profile_options *options,
                           rung *out, eg_error *error) {
    eg__subject subject;
    eg_program_info info = {.size = sizeof info};
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_status status = eg__subject_compile(&subject, model, options, error);
    if (status) return status;
    eg_program_info_get(subject.program, &info);
    out->costs = eg__memory_take_array(p->memory, EG_TAG_MEASURE, info.steps + 1,
                                       sizeof *out->costs, &reason);
    status = out->costs ? eg_program_costs(subject.program, out->costs, &out->count, error)
                        : eg__fail(error, reason.status, "%s", reason.message);
    eg__subject_close(&subject);
    return status;
}

eg_status eg_projector_create(eg_model *model, const eg_profile_options *options,
                              eg_projector **out, eg_error *error) {
    eg_profile_options how;
    if (!model || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "projector: no model or no output pointer");
    *out = NULL;
    const eg_status taken = EG__OPTIONS(eg_profile_options, &how, options, error);
    if (taken) return taken;
    const uint64_t most = how.batch ? how.batch : 1;
    if (most > (uint64_t)1 << (RUNGS - 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "projector: a batch of %llu is more than %llu",
                        (unsigned long long)most, 1ull << (RUNGS - 1));
    eg__memory *memory = eg__context_memory(model->context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_projector *p = eg__memory_take_zeroed(memory, EG_TAG_MEASURE, sizeof *p, &reason);
    if (!p) return eg__fail(error, reason.status, "%s", reason.message);
    p->memory = memory;
    eg_status status = EG_OK;
    for (uint64_t batch = 1; !status; batch *= 2) {
        how.batch = batch;
        status = rung_fill(p, model, &how, &p->rungs[p->count++], error);
        if (batch >= most) break;
    }
    if (status) eg_projector_destroy(p);
    else *out = p;
    return status;
}

void eg_projector_destroy(eg_projector *p) {
    if (!p) return;
    for (size_t i = 0; i < p->count; i++) eg__memory_give(p->memory, p->rungs[i].costs);
    eg__memory_give(p->memory, p);
}

static double memory_bytes(const eg_unit_projection *u) {
    return u->memory_bandwidth.value * u->seconds.value;
}

/* A run of twice as many samples takes at least as long, and at most as long as two runs. */
static void step_up(const eg_unit_projection *half, eg_unit_projection *unit) {
    eg_metric *s = &unit->seconds;
    if (half->seconds.provenance == EG_UNAVAILABLE || s->provenance == EG_UNAVAILABLE) {
        if (s->provenance != EG_UNAVAILABLE) *s = half->seconds;
        return;
    }
    const double before = s->value;
    s->value = fmin(fmax(before, half->seconds.value), 2 * half->seconds.value);
    const double ratio = before > 0 ? s->value / before : 1;
    unit->memory_bandwidth.value /= ratio;
    unit->low *= ratio;
    unit->high *= ratio;
}

static double between(double low, double high, double at) { return low + (high - low) * at; }

/* Rates that scale with the time and the work. */
static void rates(double flops, double bytes, double seconds, eg_unit_projection *u) {
    if (u->seconds.provenance == EG_UNAVAILABLE || !(seconds > 0)) return;
    const double compute = u->tflops.value > 0 ? flops / seconds * 1e-12 / u->tflops.value : 1;
    u->tflops.value *= compute;
    u->utilization.value *= compute;
    u->bandwidth.value = bytes / seconds * 1e-9;
}

static void units_between(const eg_projection *low, double at, eg_projection *high) {
    high->flops = between(low->flops, high->flops, at);
    high->bytes = between(low->bytes, high->bytes, at);
    high->best = EG_UNIT_CORES;
    for (int i = 0; i < EG_UNIT_COUNT; i++) {
        eg_unit_projection *u = &high->unit[i];
        const eg_unit_projection *l = &low->unit[i];
        if (u->seconds.provenance == EG_UNAVAILABLE) continue;
        const double memory = between(memory_bytes(l), memory_bytes(u), at);
        u->seconds.value = between(l->seconds.value, u->seconds.value, at);
        u->low = between(l->low, u->low, at);
        u->high = between(l->high, u->high, at);
        u->memory_bandwidth.value = u->seconds.value > 0 ? memory / u->seconds.value : 0;
        rates(high->flops, high->bytes, u->seconds.value, u);
        if (u->seconds.value < high->unit[high->best].seconds.value) high->best = (eg_unit)i;
    }
}

eg_status eg_projector_project(const eg_projector *p, uint64_t batch, const eg_chip_row *row,
                               const eg_project_options *options, eg_projection *out,
                               eg_error *error) {
    if (!p || !out || !batch || batch > (uint64_t)1 << (p->count - 1))
        return eg__fail(
            error, EG_ERR_ARGUMENT,
            "no projector, no output pointer, or a batch of %llu that it was not made for",
            (unsigned long long)batch);
    eg_projection half = {0};
    double start = 0;
    for (size_t i = 0; i < p->count; i++) {
        const uint64_t samples = (uint64_t)1 << i;
        eg_status status =
            eg_project(p->rungs[i].count, p->rungs[i].costs, row, options, out, error);
        if (status) return status;
        if (!i) start = out->start; /* programs of more samples may have other steps */
        out->start = start;
        for (int unit = 0; i && unit < EG_UNIT_COUNT; unit++)
            step_up(&half.unit[unit], &out->unit[unit]);
        if (samples >= batch) {
            const double at = i ? ((double)batch - (double)samples / 2) / ((double)samples / 2) : 1;
            units_between(i ? &half : out, at, out);
            break;
        }
        half = *out;
    }
    return EG_OK;
}
