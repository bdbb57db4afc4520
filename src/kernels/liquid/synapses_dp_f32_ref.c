/* The definition of synapses_dp_f32: the gradient with respect to the parameters, over the batch. */
#include "kernels/kernels.h"

#include <math.h>

void eg__synapses_dp_f32_ref(const eg__synapses_back_f32_args *args) {
    const eg__synapses_f32_args *f = &args->forward;
    const eg__synapse_list *list = &f->list;
    for (size_t p = 0; p < list->count; p++) {
        const int32_t t = eg__synapse_target(list->ends[p]);
        double sums[4] = {0};
        for (size_t b = 0; t >= 0 && b < f->batch; b++) {
            const float *d = args->d + b * args->d_stride;
            const double v = f->v[b * f->v_stride + eg__synapse_source(list->ends[p])];
            const double slope = f->slope[p];
            const double s = 1 / (1 + exp(-slope * (v - (double)f->middle[p])));
            const double current = d[t], conductance = d[list->targets + (size_t)t];
            const double k = current * (double)f->reversal[p] + conductance;
            const double z = k * (double)f->weight[p] * s * (1 - s);
            sums[0] += k * s;
            sums[1] -= z * slope;
            sums[2] += z * (v - (double)f->middle[p]);
            sums[3] += current * (double)f->weight[p] * s;
        }
        for (unsigned i = 0; i < 4; i++) args->result[i * args->result_stride + p] = (float)sums[i];
    }
}
