/* Eight floats at a time with AVX2 and FMA: the vocabulary of the *_body.h files. */
#ifndef EG__SIMD_H
#define EG__SIMD_H

#include "kernels/simd/simd_x86.h"

#define SIMD(name)   name##_avx2
#define VF_N         8
#define ANY_REGISTER "x" /* in assembly */

typedef __m256 vf;  /* floats */
typedef __m256i vi; /* 32-bit integers */
typedef __m256 vm;  /* a mask: all bits of a lane or none */

INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
INLINE vf vf_broadcast(const float *p) { return _mm256_broadcast_ss(p); }

/* The first n (0..8) lanes; the memory behind the others is not touched, they read as 0. */
INLINE vi vi_first(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE vf vf_load_part(const float *p, size_t n) { return _mm256_maskload_ps(p, vi_first(n)); }
/* In halves: a masked store is microcode on AMD, slower than all of these together. */
INLINE void vf_store_part(float *p, vf v, size_t n) {
    __m128 x = _mm256_castps256_ps128(v);
    if (n & 8) {
        _mm256_storeu_ps(p, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, x);
        x = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, x);
        x = _mm_movehl_ps(x, x);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, x);
}
/* v with every lane from n on replaced by x. */
INLINE vf vf_fill_rest(vf v, size_t n, vf x) {
    return _mm256_blendv_ps(x, v, _mm256_castsi256_ps(vi_first(n)));
}

INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }   /* a*b + c */
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); } /* c - a*b */
/* b where either is NaN, so that min(limit, x) and max(limit, x) keep a NaN in x. */
INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
INLINE vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }

INLINE vf vf_and(vf a, vf b) { return _mm256_and_ps(a, b); }
INLINE vf vf_or(vf a, vf b) { return _mm256_or_ps(a, b); }
INLINE vf vf_xor(vf a, vf b) { return _mm256_xor_ps(a, b); }
INLINE vf vf_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }

INLINE vm vf_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
INLINE vm vf_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
INLINE vm vf_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
INLINE vm vf_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
INLINE vf vf_select(vm m, vf yes, vf no) { return _mm256_blendv_ps(no, yes, m); }
INLINE int vm_any(vm m) { return _mm256_movemask_ps(m) != 0; }

INLINE vi vf_bits(vf a) { return _mm256_castps_si256(a); }
INLINE vf vi_bits(vi a) { return _mm256_castsi256_ps(a); }
INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
#define vi_shl(a, n) _mm256_slli_epi32(a, n)
#define vi_sar(a, n) _mm256_srai_epi32(a, n)
INLINE vi vi_shl_by(vi a, int n) { return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n)); }
INLINE vf vi_to_float(vi a) { return _mm256_cvtepi32_ps(a); }

/* Pairs in memory: a0 b0 a1 b1 ... */
INLINE void vf_store_pairs(float *p, vf a, vf b) {
    const vf x = _mm256_unpacklo_ps(a, b), y = _mm256_unpackhi_ps(a, b); /* of both halves */
    vf_store(p, _mm256_permute2f128_ps(x, y, 0x20));
    vf_store(p + VF_N, _mm256_permute2f128_ps(x, y, 0x31));
}
INLINE void vf_load_pairs(const float *p, vf *a, vf *b) {
    const vf x = vf_load(p), y = vf_load(p + VF_N);
    const vf low = _mm256_permute2f128_ps(x, y, 0x20), high = _mm256_permute2f128_ps(x, y, 0x31);
    *a = _mm256_shuffle_ps(low, high, 0x88);
    *b = _mm256_shuffle_ps(low, high, 0xdd);
}

/* Quantized numbers: vectors of halves and bytes from memory. */
INLINE vi vi_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE void vi_store(void *p, vi a) { _mm256_storeu_si256((__m256i *)p, a); }
INLINE vi vi_max(vi a, vi b) { return _mm256_max_epi32(a, b); }
INLINE vi vf_round(vf a) { return _mm256_cvtps_epi32(a); } /* to nearest, ties to even */
INLINE void vi_store_bytes(int8_t *p, vi a) {              /* of numbers that fit into one */
    __m128i x = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(x, x));
}
INLINE vi vi_bytes(vi a, vi b, vi c, vi d) { /* the same of four vectors */
    return _mm256_permutevar8x32_epi32(
        _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d)),
        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
INLINE vf vf_load_f16(const void *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
INLINE vf vf_load_bf16(const void *p) {
    return vi_bits(vi_shl(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
/* f16 in the low and in the high halves of words, as f32. */
INLINE vf vf_packed_f16(vi words) { /* whose high halves are 0 */
    return _mm256_cvtph_ps(
        _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
INLINE vf vf_low_f16(vi words) { return vf_packed_f16(vi_and(words, vi_set(0xffff))); }
INLINE vf vf_high_f16(vi words) { return vf_packed_f16(_mm256_srli_epi32(words, 16)); }
INLINE vf vf_load_i8(const void *p) {
    return vi_to_float(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* Sums and extremes over the lanes. */
INLINE float vf_sum(vf a) { return eight_add(a); }
INLINE float vf_largest(vf a) { return eight_max(a); }
INLINE float vf_smallest(vf a) { return eight_min(a); }

/* Elsewhere this makes of a load a value that must stay in a register. With sixteen registers, all
 * taken by a tile, gcc does better when it may load again. */
#define vf_keep(v)             (void)(v)

/* c += a*b for accumulators: as an instruction, because gcc otherwise folds the load of b into every
 * use of it and spills accumulators (28 instead of 95 % of the peak). */
#define vf_accumulate(c, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b))

#include "kernels/simd/simd_shared.h"

#endif
