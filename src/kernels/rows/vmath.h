/* Elementary functions over the simd vocabulary, at most 3 ulp where no other bound is given, with
 * NaN, infinities and denormals as IEEE has them. The polynomials are minimax fits of our own.
 *
 * Functions that end in _n work on n vectors in lockstep: one evaluation is a long chain of
 * dependent operations, and a scheduler of some 64 entries holds no more than three whole chains.
 * Interleaving four of them by hand keeps the pipes full. n is a constant wherever they are used. */
#ifndef EG__VMATH_H
#define EG__VMATH_H

#include "kernels/rows/unroll.h"

#include <math.h>

enum { LOCKSTEP = 4 };

#define SIGN_BIT vf_set(-0.0f)
#define EACH(n) \
    UNROLL      \
    for (int i = 0; i < (n); i++)

/* x = k ln2 + r with |r| <= ln2/2: p = expm1(r), k as a float and k + VF_ROUNDER. */
INLINE void exp_parts_n(const int n, const vf *x, vf *p, vf *k, vf *rounded) {
    vf r[LOCKSTEP], r2[LOCKSTEP], low[LOCKSTEP], high[LOCKSTEP];
    EACH(n) rounded[i] = vf_fma(x[i], vf_set(1.44269504f), vf_set(VF_ROUNDER));
    EACH(n) k[i] = vf_sub(rounded[i], vf_set(VF_ROUNDER));
    EACH(n) r[i] = vf_fnma(k[i], vf_set(0.693359375f), x[i]); /* ln2 in two parts: exact products */
    EACH(n) r[i] = vf_fnma(k[i], vf_set(-2.12194440e-4f), r[i]);
    EACH(n) r2[i] = vf_mul(r[i], r[i]);
    EACH(n) high[i] = vf_fma(vf_set(0.00836625323f), r[i], vf_set(0.041667439f));
    EACH(n) low[i] = vf_fma(vf_set(0.166665465f), r[i], vf_set(0.49999997f));
    EACH(n) high[i] = vf_fma(vf_set(0.00138702826f), r2[i], high[i]);
    EACH(n) low[i] = vf_fma(high[i], r2[i], low[i]);
    EACH(n) p[i] = vf_fma(low[i], r2[i], r[i]);
}

INLINE void vf_exp_n(const int n, vf *x) {
    vf p[LOCKSTEP], k[LOCKSTEP], rounded[LOCKSTEP];
    /* beyond these limits the result is 0 or infinity anyway */
    EACH(n) x[i] = vf_max(vf_set(-104.0f), vf_min(vf_set(89.0f), x[i]));
    exp_parts_n(n, x, p, k, rounded);
    EACH(n) x[i] = vf_scale(vf_add(p[i], vf_set(1.0f)), k[i], rounded[i]);
}

/* Through e = exp(-|x|), which cannot overflow: 1/(1+e) on the right, e/(1+e) on the left, where a
 * result may be as small as a denormal. */
INLINE void vf_sigmoid_n(const int n, vf *x) {
    vf p[LOCKSTEP], k[LOCKSTEP], rounded[LOCKSTEP], e[LOCKSTEP];
    EACH(n) e[i] = vf_max(vf_set(-104.0f), vf_or(x[i], SIGN_BIT));
    exp_parts_n(n, e, p, k, rounded);
    EACH(n) e[i] = vf_scale(vf_add(p[i], vf_set(1.0f)), k[i], rounded[i]);
    EACH(n) x[i] = vf_select(vf_lt(x[i], vf_zero()), e[i], vf_set(1.0f));
    EACH(n) x[i] = vf_div(x[i], vf_add(e[i], vf_set(1.0f)));
}

/* Through e = expm1(2|x|): e/(e+2), with no cancellation near 0. From 9.1 on it is 1. */
INLINE void vf_tanh_n(const int n, vf *x) {
    vf p[LOCKSTEP], k[LOCKSTEP], rounded[LOCKSTEP], sign[LOCKSTEP], e[LOCKSTEP];
    EACH(n) sign[i] = vf_and(x[i], SIGN_BIT);
    EACH(n) e[i] = vf_min(vf_set(9.1f), vf_abs(x[i]));
    EACH(n) e[i] = vf_add(e[i], e[i]);
    exp_parts_n(n, e, p, k, rounded);
    EACH(n) k[i] = vf_power2(rounded[i]);
    EACH(n) e[i] = vf_fma(k[i], p[i], vf_sub(k[i], vf_set(1.0f)));
    EACH(n) x[i] = vf_or(sign[i], vf_div(e[i], vf_add(e[i], vf_set(2.0f))));
}

INLINE void vf_silu_n(const int n, vf *x) {
    vf factor[LOCKSTEP];
    EACH(n) factor[i] = x[i];
    vf_sigmoid_n(n, factor);
    EACH(n) x[i] = vf_mul(x[i], factor[i]);
}

INLINE vf vf_exp(vf x) {
    vf_exp_n(1, &x);
    return x;
}

/* x = 2^e (1+f) with 1+f within [sqrt(1/2), sqrt(2)]. */
INLINE vf vf_log(vf x) {
    const vm tiny = vf_lt(x, vf_set(1.17549435e-38f));
    const vf scaled = vf_select(tiny, vf_mul(x, vf_set(8388608.0f)), x);
    const vi bits = vf_bits(scaled);
    const vi exponent = vi_sar(vi_sub(bits, vi_set(0x3f3504f3)), 23);
    const vf f = vf_sub(vi_bits(vi_sub(bits, vi_shl(exponent, 23))), vf_set(1.0f));
    const vf e = vf_sub(vi_to_float(exponent), vf_select(tiny, vf_set(23.0f), vf_zero()));
    vf p = vf_fma(vf_set(-0.0763643906f), f, vf_set(0.127622172f));
    p = vf_fma(p, f, vf_set(-0.131596103f));
    p = vf_fma(p, f, vf_set(0.1420158f));
    p = vf_fma(p, f, vf_set(-0.166234091f));
    p = vf_fma(p, f, vf_set(0.200012416f));
    p = vf_fma(p, f, vf_set(-0.250008196f));
    p = vf_fma(p, f, vf_set(0.333333313f));
    const vf f2 = vf_mul(f, f);
    vf y = vf_mul(vf_mul(f, f2), p);
    y = vf_fma(e, vf_set(-2.12194440e-4f), y);
    y = vf_fma(vf_set(-0.5f), f2, y);
    y = vf_fma(e, vf_set(0.693359375f), vf_add(f, y));
    y = vf_select(vf_lt(x, vf_set(INFINITY)), y, x); /* infinity and NaN */
    y = vf_select(vf_eq(x, vf_zero()), vf_set(-INFINITY), y);
    return vf_select(vf_lt(x, vf_zero()), vf_set(NAN), y);
}

/* Near 0 as x + x P(x^2), elsewhere as 1 - exp(Q(|x|)). */
INLINE void vf_erf_n(const int n, vf *x) {
    vf t[LOCKSTEP], s[LOCKSTEP], q[LOCKSTEP], p[LOCKSTEP];
    EACH(n) t[i] = vf_min(vf_set(4.0f), vf_abs(x[i]));
    EACH(n) s[i] = vf_mul(x[i], x[i]);
    EACH(n) q[i] = vf_fma(vf_set(-2.12256127e-05f), t[i], vf_set(0.000435951602f));
    EACH(n) p[i] = vf_fma(vf_set(7.99664194e-05f), s[i], vf_set(-0.000804976909f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(-0.00417819573f));
    EACH(n) p[i] = vf_fma(p[i], s[i], vf_set(0.00519240508f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(0.025138041f));
    EACH(n) p[i] = vf_fma(p[i], s[i], vf_set(-0.0268557314f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(-0.10830868f));
    EACH(n) p[i] = vf_fma(p[i], s[i], vf_set(0.112836257f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(-0.633321047f));
    EACH(n) p[i] = vf_fma(p[i], s[i], vf_set(-0.376126289f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(-1.12952769f));
    EACH(n) p[i] = vf_fma(p[i], s[i], vf_set(0.128379166f));
    EACH(n) q[i] = vf_fma(q[i], t[i], vf_set(0.000177334019f));
    vf_exp_n(n, q);
    EACH(n) q[i] = vf_or(vf_sub(vf_set(1.0f), q[i]), vf_and(x[i], SIGN_BIT));
    EACH(n) x[i] = vf_select(vf_le(t[i], vf_set(0.93f)), vf_fma(p[i], x[i], x[i]), q[i]);
}

INLINE void vf_gelu_n(const int n, vf *x) {
    vf half[LOCKSTEP];
    EACH(n) half[i] = vf_mul(vf_set(0.5f), x[i]);
    EACH(n) x[i] = vf_mul(x[i], vf_set(0.707106781f));
    vf_erf_n(n, x);
    EACH(n) x[i] = vf_fma(half[i], x[i], half[i]);
}

/* max(x, 0) + log1p(e), e = exp(-|x|); the last term restores what 1 + e rounds away. */
INLINE vf vf_softplus(vf x) {
    const vf e = vf_exp(vf_or(x, SIGN_BIT)), u = vf_add(e, vf_set(1.0f));
    const vf rest = vf_div(vf_sub(e, vf_sub(u, vf_set(1.0f))), u);
    return vf_add(vf_max(vf_zero(), x), vf_add(vf_log(u), rest));
}

/* To the nearest f16 or bf16, ties to even: nearly half of the last place is added to the bits, and one
 * more where that place is odd; a carry runs into the exponent. NaN stays as it is. */
#define ROUND_BITS(bits, places)                                         \
    vi_and(vi_add(vi_add(bits, vi_and(vi_sar(bits, places), vi_set(1))), \
                  vi_set((1 << (places - 1)) - 1)),                      \
           vi_set(-(1 << places)))
INLINE vf vf_round_f16(vf x) {
    const vf size = vf_abs(x), half = vf_set(0.5f);
    const vi bits = vf_bits(size);
    const vf normal = vi_bits(ROUND_BITS(bits, 13));
    /* denormals: the places of 0.5 as a float are those of the smallest f16 */
    const vf tiny = vf_sub(vf_add(size, half), half);
    vf y = vf_select(vf_lt(size, vf_set(0x1p-14f)), tiny, normal);
    y = vf_select(vf_lt(vf_set(65504.0f), y), vf_set(INFINITY), y);
    return vf_select(vf_ne(x, x), x, vf_or(y, vf_and(x, SIGN_BIT)));
}
INLINE vf vf_round_bf16(vf x) {
    const vi bits = vf_bits(x);
    return vf_select(vf_ne(x, x), x, vi_bits(ROUND_BITS(bits, 16)));
}
#undef ROUND_BITS

/* Lane by lane through the C library: for what is rare. */
INLINE vf vf_pow(vf x, vf y) {
    float a[VF_N], b[VF_N];
    vf_store(a, x);
    vf_store(b, y);
    for (int i = 0; i < VF_N; i++) a[i] = powf(a[i], b[i]);
    return vf_load(a);
}

/* pi/2 in three parts is good for |x| up to a few times 10^4; lanes beyond go through the C library,
 * each for itself, so that no value depends on its neighbours. */
#define TRIG_LIMIT 30000.0f
INLINE vf trig_far(vf x, vf y, float (*exact)(float)) {
    if (!vm_any(vf_lt(vf_set(TRIG_LIMIT), vf_abs(x)))) return y;
    float from[VF_N], to[VF_N];
    vf_store(from, x);
    vf_store(to, y);
    for (int i = 0; i < VF_N; i++)
        if (fabsf(from[i]) > TRIG_LIMIT) to[i] = exact(from[i]);
    return vf_load(to);
}

/* sin(x + quarter * pi/2) */
INLINE vf trig_near(vf x, int quarter) {
    const vf rounded = vf_fma(x, vf_set(0.636619772f), vf_set(VF_ROUNDER));
    const vf k = vf_sub(rounded, vf_set(VF_ROUNDER));
    vf r = vf_fnma(k, vf_set(1.57079637f), x);
    r = vf_fnma(k, vf_set(-4.37113883e-08f), r);
    r = vf_fnma(k, vf_set(-1.71512451e-15f), r);
    const vi turn = vi_add(vf_bits(rounded), vi_set(quarter));
    const vf s = vf_mul(r, r);
    vf sine = vf_fma(vf_set(-0.000195187909f), s, vf_set(0.00833219197f));
    sine = vf_fma(sine, s, vf_set(-0.166666552f));
    sine = vf_fma(vf_mul(sine, s), r, r);
    vf cosine = vf_fma(vf_set(2.44306611e-05f), s, vf_set(-0.00138873013f));
    cosine = vf_fma(cosine, s, vf_set(0.0416666456f));
    cosine = vf_fma(vf_mul(cosine, s), s, vf_fma(vf_set(-0.5f), s, vf_set(1.0f)));
    const vf odd = vi_to_float(vi_and(turn, vi_set(1)));
    const vf sign = vi_bits(vi_shl(vi_and(turn, vi_set(2)), 30));
    return vf_xor(vf_select(vf_eq(odd, vf_zero()), sine, cosine), sign);
}
INLINE vf vf_sin(vf x) {
    const vf near = vf_select(vf_eq(x, vf_zero()), x, trig_near(x, 0)); /* keeps -0 */
    return trig_far(x, near, sinf);
}
INLINE vf vf_cos(vf x) { return trig_far(x, trig_near(x, 1), cosf); }

#undef EACH
#endif
