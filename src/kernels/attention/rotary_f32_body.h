/* rotary_f32 for any vector width: included by rotary_f32_<isa>.c after its simd header. Sines and cosines
 * are computed once for a row and used by all its heads. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

/* The product of a large position and a frequency loses digits of the angle; the rounding error is
 * computed and added as a second, small rotation. */
INLINE void angles(vf position, vf frequency, vf sign, vf *cosine, vf *sine) {
    const vf angle = vf_mul(position, frequency);
    const vf rest = vf_sub(vf_zero(), vf_fnma(position, frequency, angle));
    const vf c = vf_cos(angle), s = vf_sin(angle);
    *cosine = vf_fnma(rest, s, c);
    *sine = vf_mul(vf_fma(rest, c, s), sign);
}

static void row_angles(const eg__rotary_f32_args *a, double position, float *cosine, float *sine) {
    const vf at = vf_set((float)position), sign = vf_set(a->back ? -1.0f : 1.0f);
    const size_t half = a->d / 2;
    for (size_t i = 0; i < half; i += VF_N) {
        const size_t n = eg__min(VF_N, half - i);
        vf c, s;
        angles(at, n < VF_N ? vf_load_part(a->frequency + i, n) : vf_load(a->frequency + i), sign,
               &c, &s);
        vf_store(cosine + i, c);
        vf_store(sine + i, s);
    }
}

INLINE void turn(vf *x, vf *y, vf c, vf s) {
    const vf first = vf_fnma(*y, s, vf_mul(*x, c));
    *y = vf_fma(*x, s, vf_mul(*y, c));
    *x = first;
}

INLINE void halves(size_t half, const float *x, float *y, const float *cosine, const float *sine) {
    size_t i = 0;
    for (; i + VF_N <= half; i += VF_N) {
        vf a = vf_load(x + i), b = vf_load(x + half + i);
        turn(&a, &b, vf_load(cosine + i), vf_load(sine + i));
        vf_store(y + i, a);
        vf_store(y + half + i, b);
    }
    if (i < half) {
        const size_t n = half - i;
        vf a = vf_load_part(x + i, n), b = vf_load_part(x + half + i, n);
        turn(&a, &b, vf_load(cosine + i), vf_load(sine + i));
        vf_store_part(y + i, a, n);
        vf_store_part(y + half + i, b, n);
    }
}

INLINE void pairs(size_t half, const float *x, float *y, const float *cosine, const float *sine) {
    size_t i = 0;
    for (; i + VF_N <= half; i += VF_N) {
        vf a, b;
        vf_load_pairs(x + 2 * i, &a, &b);
        turn(&a, &b, vf_load(cosine + i), vf_load(sine + i));
        vf_store_pairs(y + 2 * i, a, b);
    }
    for (; i < half; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * cosine[i] - b * sine[i];
        y[2 * i + 1] = b * cosine[i] + a * sine[i];
    }
}

void SIMD(eg__rotary_f32)(const eg__rotary_f32_args *a) {
    const size_t half = a->d / 2;
    float *cosine = a->scratch, *sine = cosine + eg__round_up(a->d, 16);
    for (size_t r = 0; r < a->rows; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        row_angles(a, eg__rotary_position(a, r), cosine, sine);
        for (size_t head = 0; head < a->heads; head++, x += a->d, y += a->d) {
            if (a->interleaved) pairs(half, x, y, cosine, sine);
            else halves(half, x, y, cosine, sine);
        }
    }
}
