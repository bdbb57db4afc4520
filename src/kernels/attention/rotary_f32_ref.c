/* The definition of rotary_f32. */
#include "kernels/kernels.h"

#include <math.h>

void eg__rotary_f32_ref(const eg__rotary_f32_args *a) {
    const size_t half = a->d / 2, step = a->interleaved ? 1 : half;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t head = 0; head < a->heads; head++)
            for (size_t i = 0; i < half; i++) {
                const double angle = eg__rotary_position(a, r) * (double)a->frequency[i];
                const double c = cos(angle), s = a->back ? -sin(angle) : sin(angle);
                const size_t at = head * a->d + (a->interleaved ? 2 * i : i);
                const float *x = a->x + r * a->x_stride + at;
                const double first = (double)x[0], second = (double)x[step];
                float *y = a->y + r * a->y_stride + at;
                y[0] = (float)(first * c - second * s);
                y[step] = (float)(second * c + first * s);
            }
}
