/* squares_f32: eight sums side by side, because one alone would wait for each addition. */
#include "kernels/kernels.h"

void eg__squares_f32_ref(const eg__squares_f32_args *args) {
    const float *x = args->x;
    double lane[EG__SQUARES_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + EG__SQUARES_LANES <= args->n; i += EG__SQUARES_LANES)
        for (unsigned l = 0; l < EG__SQUARES_LANES; l++)
            lane[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < args->n; i++) lane[0] += (double)x[i] * (double)x[i];
    for (unsigned l = 0; l < EG__SQUARES_LANES; l++) sum += lane[l];
    *args->sum = sum;
}
