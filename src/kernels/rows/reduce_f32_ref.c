/* The definition of reduce_f32. */
#include "kernels/kernels.h"

#include <math.h>

static double row_reduce(eg__reduction reduction, size_t n, const float *x) {
    double result = reduction == EG__REDUCE_MAX   ? -INFINITY
                    : reduction == EG__REDUCE_MIN ? INFINITY
                                                  : 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        if (reduction == EG__REDUCE_MAX) result = x[i] > result ? x[i] : result;
        else if (reduction == EG__REDUCE_MIN) result = x[i] < result ? x[i] : result;
        else result += x[i];
    }
    return reduction == EG__REDUCE_MEAN ? result / (double)n : result;
}

static int32_t row_argmax(size_t n, const float *x) {
    if (!n) return -1;
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return (int32_t)i;
        if (x[i] > x[best]) best = i;
    }
    return (int32_t)best;
}

void eg__reduce_f32_ref(const eg__reduce_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        if (args->reduction == EG__REDUCE_ARGMAX) args->index[r] = row_argmax(args->columns, x);
        else args->y[r] = (float)row_reduce(args->reduction, args->columns, x);
    }
}
