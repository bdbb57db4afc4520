/* The elementary functions in double, and how far a float is from them. */
#ifndef EG__VMATH_TEST_H
#define EG__VMATH_TEST_H

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* The distance of two neighbours among floats at x: 2^-149 for denormals. */
static inline double float_ulp(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    exponent = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
    bits = (uint64_t)(exponent - 23 + 1023) << 52;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* How far `got` is from `want` in such steps, taken at the larger of `want` and `scale`. Infinity
 * stands one step above the largest float; a NaN is infinitely far from a number. */
static inline double float_error(float got, double want, double scale) {
    const double top = 0x1p128;
    double g = got, w = want;
    if (isnan(g) || isnan(w)) return isnan(g) && isnan(w) ? 0 : INFINITY;
    g = fmin(top, fmax(-top, g)), w = fmin(top, fmax(-top, w));
    return fabs(g - w) / float_ulp(fmax(fabs(w), scale));
}

static inline double exact_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline double exact_softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }
static inline double exact_gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }
static inline double exact_silu(double x) { return x / (1 + exp(-x)); }
static inline double exact_rsqrt(double x) { return 1 / sqrt(x); }

/* Functions of one number and what is promised of them, in ulp. */
typedef struct vmath_function {
    eg__fused_op op;
    double (*exact)(double);
    double bound;
    double scale; /* the error of a result below scale*|x| counts as if it were that large */
} vmath_function;

enum { VMATH_PROMISED = 5 }; /* the first ones: at most 3 ulp over all floats */
static const vmath_function vmath_functions[] = {
    {EG__FUSED_EXP, exp, 3, 0},
    {EG__FUSED_SIGMOID, exact_sigmoid, 3, 0},
    {EG__FUSED_TANH, tanh, 3, 0},
    {EG__FUSED_LOG, log, 3, 0},
    {EG__FUSED_ERF, erf, 3, 0},
    {EG__FUSED_SOFTPLUS, exact_softplus, 3, 0},
    {EG__FUSED_GELU, exact_gelu, 3, 0.5},      /* 1 + erf cancels on the left */
    {EG__FUSED_SILU, exact_silu, 3, 0x1p-126}, /* the factor may be a denormal */
    {EG__FUSED_SIN, sin, 3, 0},
    {EG__FUSED_COS, cos, 3, 0},
    {EG__FUSED_RSQRT, exact_rsqrt, 2, 0},
    {EG__FUSED_SQRT, sqrt, 0.5, 0},
};
enum { VMATH_FUNCTIONS = sizeof vmath_functions / sizeof *vmath_functions };

/* y = op(x) with one kernel, n elements. */
static inline void vmath_run(const eg__kernel *row, eg__fused_op op, size_t n, const float *x,
                             float *y) {
    const eg__fused_program program = {
        .length = 1,
        .operands = 2,
        .kind = {EG__FULL, EG__FULL},
        .code = {{(uint8_t)op, EG__OPERAND(1), EG__OPERAND(0), 0, 0}}};
    const eg__fused_f32_args args = {.program = &program,
                                     .rows = 1,
                                     .columns = n,
                                     .operand = {{(float *)(uintptr_t)x, n}, {y, n}}};
    row->function.fused_f32(&args);
}

#endif
