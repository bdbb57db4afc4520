/* The definition of softmax_f32: sums in double. */
#include "kernels/kernels.h"

#include <math.h>

void eg__softmax_f32_ref(const eg__softmax_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        float *y = args->y + r * args->y_stride;
        double max = -INFINITY, sum = 0;
        for (size_t i = 0; i < args->columns; i++) max = x[i] > max || isnan(x[i]) ? x[i] : max;
        for (size_t i = 0; i < args->columns; i++) sum += exp(x[i] - max);
        for (size_t i = 0; i < args->columns; i++)
            y[i] = (float)(args->logarithm ? x[i] - max - log(sum) : exp(x[i] - max) / sum);
    }
}
