/* The definition of synapses_f32. */
#include "kernels/kernels.h"

#include <math.h>

void eg__synapses_f32_ref(const eg__synapses_f32_args *args) {
    const eg__synapse_list *list = &args->list;
    for (size_t b = 0; b < args->batch; b++) {
        const float *v = args->v + b * args->v_stride;
        float *out = args->out + b * args->out_stride;
        for (size_t t = 0; t < list->targets; t++) {
            double current = 0, conductance = 0;
            for (size_t p = 0; p < list->count; p++) {
                if (eg__synapse_target(list->ends[p]) != (int32_t)t) continue;
                const double from = v[eg__synapse_source(list->ends[p])];
                const double z = (double)args->slope[p] * (from - (double)args->middle[p]);
                const double a = (double)args->weight[p] / (1 + exp(-z));
                current += a * (double)args->reversal[p];
                conductance += a;
            }
            out[t] = (float)current;
            out[list->targets + t] = (float)conductance;
        }
    }
}
