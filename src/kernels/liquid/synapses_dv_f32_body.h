/* synapses_dv_f32 for any vector width: included by synapses_dv_f32_<isa>.c after its simd header. */
#include "kernels/liquid/synapses_block.h"

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

void SIMD(eg__synapses_dv_f32)(const eg__synapses_back_f32_args *args) {
    for (size_t row = 0; row < args->forward.batch; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, args->forward.batch - row));
}
