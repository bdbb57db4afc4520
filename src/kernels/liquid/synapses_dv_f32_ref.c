/* The definition of synapses_dv_f32: the gradient with respect to the sources. */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

void eg__synapses_dv_f32_ref(const eg__synapses_back_f32_args *args) {
    const eg__synapses_f32_args *f = &args->forward;
    const eg__synapse_list *list = &f->list;
    for (size_t b = 0; b < f->batch; b++) {
        const float *v = f->v + b * f->v_stride, *d = args->d + b * args->d_stride;
        float *dv = args->result + b * args->result_stride;
        memset(dv, 0, list->sources * sizeof *dv);
        for (size_t p = 0; p < list->count; p++) {
            const int32_t t = eg__synapse_target(list->ends[p]);
            const size_t from = eg__synapse_source(list->ends[p]);
            if (t < 0) continue;
            const double slope = f->slope[p], weight = f->weight[p];
            const double s = 1 / (1 + exp(-slope * ((double)v[from] - (double)f->middle[p])));
            const double k =
                (double)d[t] * (double)f->reversal[p] + (double)d[list->targets + (size_t)t];
            dv[from] += (float)(k * weight * s * (1 - s) * slope);
        }
    }
}
