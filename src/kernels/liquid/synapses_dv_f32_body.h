/* synapses_dv_f32 for any vector width: included by synapses_dv_f32_<isa>.c after its simd header. Many
 * samples are side by side in the lanes, few samples are processed one by one, with a lane per synapse:
 * the same numbers in the same order. */
#include "kernels/liquid/synapses_block.h"

/* A vector with more samples than this takes less time than they do one by one. */
enum { FEW = 3 * VF_N / 8 };

INLINE void columns(const int n, const eg__synapses_f32_args *f, size_t p, const float *v,
                    const float *current, const float *conductance, float *dv) {
    const vf slope = vf_set(f->slope[p]), middle = vf_set(f->middle[p]), one = vf_set(1.0f);
    const vf weight = vf_set(f->weight[p] * f->slope[p]), reversal = vf_set(f->reversal[p]);
    vf s[LOCKSTEP], k[LOCKSTEP];
    EACH_VECTOR(n) s[l] = vf_mul(slope, vf_sub(vf_load(v + l * VF_N), middle));
    vf_sigmoid_n(n, s);
    EACH_VECTOR(n)
    k[l] = vf_fma(vf_load(current + l * VF_N), reversal, vf_load(conductance + l * VF_N));
    EACH_VECTOR(n) s[l] = vf_mul(s[l], vf_sub(one, s[l]));
    EACH_VECTOR(n) k[l] = vf_mul(k[l], weight);
    EACH_VECTOR(n) vf_store(dv + l * VF_N, vf_fma(k[l], s[l], vf_load(dv + l * VF_N)));
}

static void block_run(const eg__synapses_back_f32_args *args, size_t row, size_t rows) {
    const eg__synapses_f32_args *f = &args->forward;
    const eg__synapse_list *list = &f->list;
    float *v = f->scratch, *d = v + list->sources * BLOCK, *dv = d + 2 * list->targets * BLOCK;
    const size_t wide = eg__round_up(rows, VF_N);
    block_load(rows, list->sources, f->v + row * f->v_stride, f->v_stride, v);
    block_load(rows, 2 * list->targets, args->d + row * args->d_stride, args->d_stride, d);
    block_zero(0, rows, list->sources, dv);
    for (size_t p = 0; p < list->count; p++) {
        const int32_t target = eg__synapse_target(list->ends[p]);
        if (target < 0) continue;
        const size_t from = eg__synapse_source(list->ends[p]) * BLOCK;
        const float *current = d + (size_t)target * BLOCK;
        const float *conductance = current + list->targets * BLOCK;
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= wide; i += LOCKSTEP * VF_N)
            columns(LOCKSTEP, f, p, v + from + i, current + i, conductance + i, dv + from + i);
        for (; i < wide; i += VF_N)
            columns(1, f, p, v + from + i, current + i, conductance + i, dv + from + i);
    }
    block_store(rows, list->sources, dv, args->result + row * args->result_stride,
                args->result_stride);
}

/* ---- one sample of a list in lanes */

/* `n` vectors of synapses: s becomes the slope of their sigmoids, k what it is multiplied by. */
INLINE void slopes(const int n, const eg__synapses_f32_args *f, size_t p, float *s, float *k,
                   const float *conductance) {
    vf x[LOCKSTEP], y[LOCKSTEP];
    EACH_VECTOR(n)
    x[l] = vf_mul(vf_load(f->slope + p + l * VF_N),
                  vf_sub(vf_load(s + l * VF_N), vf_load(f->middle + p + l * VF_N)));
    vf_sigmoid_n(n, x);
    EACH_VECTOR(n)
    y[l] = vf_fma(vf_load(k + l * VF_N), vf_load(f->reversal + p + l * VF_N),
                  vf_load(conductance + l * VF_N));
    EACH_VECTOR(n) vf_store(s + l * VF_N, vf_mul(x[l], vf_sub(vf_set(1.0f), x[l])));
    EACH_VECTOR(n)
    vf_store(k + l * VF_N, vf_mul(y[l], vf_mul(vf_load(f->weight + p + l * VF_N),
                                               vf_load(f->slope + p + l * VF_N))));
}

static void sample_run(const eg__synapses_back_f32_args *args, size_t b) {
    enum { MANY = 16 * EG__LANES };
    const eg__synapses_f32_args *f = &args->forward;
    const eg__synapse_list *list = &f->list;
    const float *v = f->v + b * f->v_stride, *d = args->d + b * args->d_stride;
    float s[MANY], k[MANY], conductance[MANY], *dv = args->result + b * args->result_stride;
    memset(dv, 0, list->sources * sizeof *dv);
    for (size_t from = 0; from < list->count; from += MANY) {
        const size_t count = eg__min(MANY, list->count - from);
        const int32_t *ends = list->ends + from;
        for (size_t i = 0; i < count; i++) {
            const int32_t target = eg__synapse_target(ends[i]);
            const float *to = d + (target < 0 ? 0 : target);
            s[i] = v[eg__synapse_source(ends[i])];
            k[i] = to[0];
            conductance[i] = to[list->targets];
        }
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= count; i += LOCKSTEP * VF_N)
            slopes(LOCKSTEP, f, from + i, s + i, k + i, conductance + i);
        for (; i < count; i += VF_N) slopes(1, f, from + i, s + i, k + i, conductance + i);
        for (i = 0; i < count; i++)
            if (eg__synapse_target(ends[i]) >= 0)
                dv[eg__synapse_source(ends[i])] = fmaf(k[i], s[i], dv[eg__synapse_source(ends[i])]);
    }
}

void SIMD(eg__synapses_dv_f32)(const eg__synapses_back_f32_args *args) {
    const size_t batch = args->forward.batch;
    size_t few = args->forward.list.in_lanes ? batch % VF_N : 0;
    if (few > FEW) few = 0;
    for (size_t row = 0; row < batch - few; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, batch - few - row));
    for (size_t b = batch - few; b < batch; b++) sample_run(args, b);
}
