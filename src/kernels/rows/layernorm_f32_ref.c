/* The definition of layernorm_f32: sums in double. */
#include "kernels/kernels.h"

#include <math.h>

void eg__layernorm_f32_ref(const eg__norm_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        float *y = args->y + r * args->y_stride;
        double mean = 0, square = 0, n = (double)args->columns;
        for (size_t i = 0; i < args->columns; i++) mean += x[i] / n;
        for (size_t i = 0; i < args->columns; i++) square += (x[i] - mean) * (x[i] - mean);
        double scale = 1 / sqrt(square / n + args->epsilon);
        for (size_t i = 0; i < args->columns; i++)
            y[i] = (float)((x[i] - mean) * scale * (args->gain ? args->gain[i] : 1) +
                           (args->bias ? args->bias[i] : 0));
    }
}
