/* squares_f32 for any vector width: included by squares_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

/* Lanes are vectors of doubles, which no simd header has; compilers see them in loops of known length. Wider vectors would
 * gain nothing: all lanes wait for their additions together. */
void SIMD(eg__squares_f32)(const eg__squares_f32_args *args) {
    const float *x = args->x;
    double lane[EG__SQUARES_LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + EG__SQUARES_LANES <= args->n; i += EG__SQUARES_LANES) {
        UNROLL
        for (unsigned l = 0; l < EG__SQUARES_LANES; l++)
            lane[l] += (double)x[i + l] * (double)x[i + l];
    }
    for (; i < args->n; i++) lane[0] += (double)x[i] * (double)x[i];
    for (unsigned l = 0; l < EG__SQUARES_LANES; l++) sum += lane[l];
    *args->sum = sum;
}
