/* The definition of f16_to_f32: sign, exponent, fraction; exact. */
#include "kernels/kernels.h"

#include <math.h>

void eg__f16_to_f32_ref(size_t n, const uint16_t *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        int exponent = x[i] >> 10 & 31, fraction = x[i] & 1023;
        float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                    : ldexpf((float)fraction, -24);
        y[i] = copysignf(size, x[i] >> 15 ? -1.0f : 1.0f);
    }
}
