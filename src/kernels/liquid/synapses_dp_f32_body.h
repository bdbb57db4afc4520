/* synapses_dp_f32 for any vector width: included by synapses_dp_f32_<isa>.c after its simd header. */
#include "kernels/liquid/synapses_block.h"

enum { SUMS = 4 };

/* One vector of samples, added to the sums of weight, middle, slope, reversal. */
INLINE void columns(const int n, const eg__synapses_f32_args *f, size_t p, const float *v,
                    const float *current, const float *conductance, vf *sums) {
    const vf slope = vf_set(f->slope[p]), middle = vf_set(f->middle[p]), one = vf_set(1.0f);
    const vf weight = vf_set(f->weight[p]), reversal = vf_set(f->reversal[p]);
    vf s[LOCKSTEP];
    EACH_VECTOR(n) s[l] = vf_mul(slope, vf_sub(vf_load(v + l * VF_N), middle));
    vf_sigmoid_n(n, s);
    EACH_VECTOR(n) {
        const vf c = vf_load(current + l * VF_N), from = vf_sub(vf_load(v + l * VF_N), middle);
        const vf k = vf_fma(c, reversal, vf_load(conductance + l * VF_N));
        const vf z = vf_mul(vf_mul(k, weight), vf_mul(s[l], vf_sub(one, s[l])));
        sums[0] = vf_fma(k, s[l], sums[0]);
        sums[1] = vf_fnma(z, slope, sums[1]);
        sums[2] = vf_fma(z, from, sums[2]);
        sums[3] = vf_fma(vf_mul(c, weight), s[l], sums[3]);
    }
}

static void block_run(const eg__synapses_back_f32_args *args, size_t row, size_t rows) {
    const eg__synapses_f32_args *f = &args->forward;
    const eg__synapse_list *list = &f->list;
    float *v = f->scratch, *d = v + list->sources * BLOCK;
    const size_t wide = eg__round_up(rows, VF_N);
    block_load(rows, list->sources, f->v + row * f->v_stride, f->v_stride, v);
    block_load(rows, 2 * list->targets, args->d + row * args->d_stride, args->d_stride, d);
    for (size_t p = 0; p < list->count; p++) {
        const int32_t target = eg__synapse_target(list->ends[p]);
        if (target < 0) continue;
        const float *from = v + eg__synapse_source(list->ends[p]) * BLOCK;
        const float *current = d + (size_t)target * BLOCK;
        const float *conductance = current + list->targets * BLOCK;
        vf sums[SUMS] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
        size_t i = 0;
        for (; i + LOCKSTEP * VF_N <= wide; i += LOCKSTEP * VF_N)
            columns(LOCKSTEP, f, p, from + i, current + i, conductance + i, sums);
        for (; i < wide; i += VF_N) columns(1, f, p, from + i, current + i, conductance + i, sums);
        for (int k = 0; k < SUMS; k++)
            args->result[(size_t)k * args->result_stride + p] += vf_sum(sums[k]);
    }
}

void SIMD(eg__synapses_dp_f32)(const eg__synapses_back_f32_args *args) {
    for (size_t k = 0; k < SUMS; k++)
        memset(args->result + k * args->result_stride, 0,
               args->forward.list.count * sizeof *args->result);
    for (size_t row = 0; row < args->forward.batch; row += BLOCK)
        block_run(args, row, eg__min(BLOCK, args->forward.batch - row));
}
