/* Four floats at a time with NEON: the vocabulary of the *_body.h files. */
#ifndef EG__SIMD_H
#define EG__SIMD_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD(name) name##_neon
#define VF_N       4
#define TRANSPOSE  eg__transpose_f32_neon /* the quickest where these instructions are */

typedef float32x4_t vf; /* floats */
typedef int32x4_t vi;   /* 32-bit integers */
typedef uint32x4_t vm;  /* a mask: all bits of a lane or none */

#define INLINE static inline __attribute__((always_inline))

INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
INLINE void vf_store(float *p, vf v) { vst1q_f32(p, v); }
INLINE vf vf_set(float x) { return vdupq_n_f32(x); }
INLINE vf vf_zero(void) { return vdupq_n_f32(0); }
INLINE vf vf_broadcast(const float *p) { return vld1q_dup_f32(p); }

INLINE vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
INLINE vm vf_le(vf a, vf b) { return vcleq_f32(a, b); }
INLINE vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
INLINE vm vf_ne(vf a, vf b) { return vmvnq_u32(vceqq_f32(a, b)); }
INLINE vf vf_select(vm m, vf yes, vf no) { return vbslq_f32(m, yes, no); }
INLINE int vm_any(vm m) { return vmaxvq_u32(m) != 0; }

/* The first n (0..4) lanes; the memory behind the others is not touched, they read as 0. */
INLINE vf vf_load_part(const float *p, size_t n) {
    float lanes[4] = {0};
    for (size_t i = 0; i < n; i++) lanes[i] = p[i];
    return vld1q_f32(lanes);
}
INLINE void vf_store_part(float *p, vf v, size_t n) {
    float lanes[4];
    vst1q_f32(lanes, v);
    for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}
/* v with every lane from n on replaced by x. */
INLINE vf vf_fill_rest(vf v, size_t n, vf x) {
    static const uint32_t index[4] = {0, 1, 2, 3};
    return vbslq_f32(vcltq_u32(vld1q_u32(index), vdupq_n_u32((uint32_t)n)), v, x);
}

INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }  /* a*b + c */
INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); } /* c - a*b */
/* b where either is NaN, as on x86, so that min(limit, x) and max(limit, x) keep a NaN in x. */
INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }

INLINE vi vf_bits(vf a) { return vreinterpretq_s32_f32(a); }
INLINE vf vi_bits(vi a) { return vreinterpretq_f32_s32(a); }
INLINE vf vf_and(vf a, vf b) { return vi_bits(vandq_s32(vf_bits(a), vf_bits(b))); }
INLINE vf vf_or(vf a, vf b) { return vi_bits(vorrq_s32(vf_bits(a), vf_bits(b))); }
INLINE vf vf_xor(vf a, vf b) { return vi_bits(veorq_s32(vf_bits(a), vf_bits(b))); }
INLINE vf vf_abs(vf a) { return vabsq_f32(a); }

INLINE vi vi_set(int32_t x) { return vdupq_n_s32(x); }
INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
INLINE vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
#define vi_shl(a, n) vshlq_n_s32(a, n)
#define vi_sar(a, n) vshrq_n_s32(a, n)
INLINE vi vi_shl_by(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
INLINE vf vi_to_float(vi a) { return vcvtq_f32_s32(a); }

/* Pairs in memory: a0 b0 a1 b1 ... */
INLINE void vf_store_pairs(float *p, vf a, vf b) {
    const float32x4x2_t pairs = {{a, b}}; /* clang's vst2q_f32 is a macro */
    vst2q_f32(p, pairs);
}
INLINE void vf_load_pairs(const float *p, vf *a, vf *b) {
    const float32x4x2_t pairs = vld2q_f32(p);
    *a = pairs.val[0];
    *b = pairs.val[1];
}

/* Quantized numbers: vectors of halves and bytes from memory. */
INLINE vi vi_load(const void *p) { return vreinterpretq_s32_u8(vld1q_u8((const uint8_t *)p)); }
INLINE void vi_store(void *p, vi a) { vst1q_u8((uint8_t *)p, vreinterpretq_u8_s32(a)); }
INLINE vi vi_max(vi a, vi b) { return vmaxq_s32(a, b); }
INLINE vi vf_round(vf a) { return vcvtnq_s32_f32(a); } /* to nearest, ties to even */
INLINE void vi_store_bytes(int8_t *p, vi a) {          /* of numbers that fit into one */
    const int16x4_t x = vmovn_s32(a);
    const uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(x, x))), 0);
    memcpy(p, &bytes, sizeof bytes);
}
INLINE vi vi_bytes(vi a, vi b, vi c, vi d) { /* the same of four vectors */
    const int16x8_t low = vcombine_s16(vmovn_s32(a), vmovn_s32(b));
    const int16x8_t high = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
    return vreinterpretq_s32_s8(vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}
INLINE vf vf_load_f16(const void *p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8((const uint8_t *)p)));
}
INLINE vf vf_load_bf16(const void *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p)), 16));
}
/* f16 in the low and in the high halves of words, as f32. */
INLINE vf vf_low_f16(vi words) { return vcvt_f32_f16(vreinterpret_f16_s16(vmovn_s32(words))); }
INLINE vf vf_high_f16(vi words) {
    return vcvt_f32_f16(vreinterpret_f16_s16(vshrn_n_s32(words, 16)));
}
INLINE vf vf_load_i8(const void *p) {
    int32_t word; /* four bytes: eight would read past the end */
    memcpy(&word, p, sizeof word);
    const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(word));
    return vi_to_float(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}

/* Sums and extremes over the lanes, always in the same order. */
INLINE float vf_sum(vf a) {
    float32x2_t x = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpadd_f32(x, x), 0);
}
INLINE float vf_largest(vf a) { return vmaxvq_f32(a); }
INLINE float vf_smallest(vf a) { return vminvq_f32(a); }

/* From here on v is a value in a register, not a load that can be done again at each use. */
#define vf_keep(v)             __asm__("" : "+w"(v))

/* c += a*b for accumulators. */
#define vf_accumulate(c, a, b) ((c) = vfmaq_f32(c, a, b))

/* The float at base + row*stride bytes + 4*offset in every lane. */
#define vf_broadcast_row(out, base, stride, row, offset)                                     \
    ((out) = vf_broadcast((const float *)((const char *)(base) + (size_t)(row) * (stride)) + \
                          (offset)))

#include "kernels/simd/simd_shared.h"

#endif
