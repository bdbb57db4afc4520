/* The definition of rmsnorm_f32: sums in double. */
#include "kernels/kernels.h"

#include <math.h>

void eg__rmsnorm_f32_ref(const eg__norm_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        float *y = args->y + r * args->y_stride;
        double square = 0, n = (double)args->columns;
        for (size_t i = 0; i < args->columns; i++) square += (double)x[i] * x[i];
        double scale = 1 / sqrt(square / n + args->epsilon);
        for (size_t i = 0; i < args->columns; i++)
            y[i] = (float)(x[i] * scale * (args->gain ? args->gain[i] : 1) +
                           (args->bias ? args->bias[i] : 0));
    }
}
