/* The definition of f32_to_bf16: to the nearest, ties to even; NaN stays NaN. */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

void eg__f32_to_bf16_ref(size_t n, const float *x, uint16_t *y) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        if (isnan(x[i])) y[i] = (uint16_t)(bits >> 16 | 0x40);
        else y[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}
