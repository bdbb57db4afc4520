/* The definition of f32_to_f16: to the nearest, ties to even. */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

static uint16_t convert(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    double size = fabs((double)x);
    if (isnan(x)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00; /* halfway beyond the largest: infinity */
    int exponent;
    frexp(size, &exponent);                          /* size = m * 2^exponent, m within [0.5, 1) */
    if (exponent < -13 || size == 0) exponent = -13; /* denormals; frexp calls that of 0 0 */
    /* in units of the last place; rint rounds to even, and a carry runs into the exponent */
    double units = rint(ldexp(size, 11 - exponent));
    return (uint16_t)(sign + ((exponent + 13) << 10) + (int)units);
}

void eg__f32_to_f16_ref(size_t n, const float *x, uint16_t *y) {
    for (size_t i = 0; i < n; i++) y[i] = convert(x[i]);
}
