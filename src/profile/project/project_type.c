/* Costs that were counted in f32, as they would be in another type. */
#include "profile/project/project.h"

#include <math.h>

/* i8 and i4 come in blocks of 32 with a scale in f16: half a bit more per element. */
bool eg__storage_of(eg_type type, eg__storage *out) {
    static const eg__storage sizes[EG_TYPE_COUNT] = {[EG_F32] = {1, 1},
                                                     [EG_F16] = {0.5, 0.5},
                                                     [EG_BF16] = {0.5, 0.5},
                                                     [EG_I8] = {8.5 / 32, 1},
                                                     [EG_I4] = {4.5 / 32, 1}};
    if ((unsigned)type >= EG_TYPE_COUNT || !(sizes[type].weights > 0)) return false;
    *out = sizes[type];
    return true;
}

/* Each element of the right side is multiplied with every row once. */
double eg__cost_weights(const eg_step_cost *cost) {
    const bool is_product = cost->work == EG_WORK_GEMM || cost->work == EG_WORK_GEMV;
    const bool bare = cost->product <= 0 && cost->simple <= 0 && cost->functions <= 0;
    const double product = bare ? cost->flops : cost->product;
    if (!is_product || !(cost->rows > 0)) return 0;
    return fmin(cost->bytes, sizeof(float) * product / (2 * cost->rows));
}

static double bytes_of(eg__storage storage, const eg_step_cost *cost) {
    const double weights = eg__cost_weights(cost);
    return weights * storage.weights + (cost->bytes - weights) * storage.values;
}

/* A footprint is what all steps of a loop touch, so it shrinks with their total. */
void eg__retyping_make(eg__storage storage, size_t count, const eg_step_cost *costs,
                       eg__retyping *out) {
    double before[2] = {0}, after[2] = {0};
    for (size_t i = 0; i < count; i++) {
        const int inside = costs[i].in_scan != 0;
        before[inside] += costs[i].bytes;
        after[inside] += bytes_of(storage, &costs[i]);
    }
    out->storage = storage;
    for (int i = 0; i < 2; i++) out->footprint[i] = before[i] > 0 ? after[i] / before[i] : 1;
}

eg_step_cost eg__cost_retyped(const eg__retyping *retyping, const eg_step_cost *cost) {
    eg_step_cost out = *cost;
    out.bytes = bytes_of(retyping->storage, cost);
    out.footprint *= retyping->footprint[cost->in_scan != 0];
    return out;
}
