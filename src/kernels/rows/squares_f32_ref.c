/* squares_f32: every lane for itself, then their sum. */
#include "kernels/kernels.h"

void eg__squares_f32_ref(const eg__squares_f32_args *args) {
    const size_t whole = args->n / EG__SQUARES_LANES * EG__SQUARES_LANES;
    double sum = 0;
    for (size_t lane = 0; lane < EG__SQUARES_LANES; lane++) {
        double part = 0;
        for (size_t i = lane; i < whole; i += EG__SQUARES_LANES)
            part += (double)args->x[i] * (double)args->x[i];
        for (size_t i = whole; !lane && i < args->n; i++)
            part += (double)args->x[i] * (double)args->x[i];
        sum += part;
    }
    *args->sum = sum;
}
