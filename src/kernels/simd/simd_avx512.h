/* Sixteen floats at a time with AVX-512: the vocabulary of the *_body.h files. */
#ifndef EG__SIMD_H
#define EG__SIMD_H

#include "kernels/simd/simd_x86.h"

#define SIMD(name)   name##_avx512
#define VF_N         16
#define ANY_REGISTER "v" /* in assembly */

typedef __m512 vf;    /* floats */
typedef __m512i vi;   /* 32-bit integers */
typedef __mmask16 vm; /* a mask */

INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
INLINE vf vf_broadcast(const float *p) { return _mm512_set1_ps(*p); }

/* The first n (0..16) lanes; the memory behind the others is not touched, they read as 0. */
INLINE vm vm_first(size_t n) { return (vm)((1u << n) - 1); }
INLINE vf vf_load_part(const float *p, size_t n) { return _mm512_maskz_loadu_ps(vm_first(n), p); }
INLINE void vf_store_part(float *p, vf v, size_t n) { _mm512_mask_storeu_ps(p, vm_first(n), v); }
/* v with every lane from n on replaced by x. */
INLINE vf vf_fill_rest(vf v, size_t n, vf x) { return _mm512_mask_blend_ps(vm_first(n), x, v); }

INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }   /* a*b + c */
INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a*b */
/* b where either is NaN, so that min(limit, x) and max(limit, x) keep a NaN in x. */
INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }

INLINE vf vf_and(vf a, vf b) { return _mm512_and_ps(a, b); }
INLINE vf vf_or(vf a, vf b) { return _mm512_or_ps(a, b); }
INLINE vf vf_xor(vf a, vf b) { return _mm512_xor_ps(a, b); }
INLINE vf vf_abs(vf a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }

INLINE vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
INLINE vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
INLINE vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
INLINE vm vf_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
INLINE vf vf_select(vm m, vf yes, vf no) { return _mm512_mask_blend_ps(m, no, yes); }
INLINE int vm_any(vm m) { return m != 0; }

INLINE vi vf_bits(vf a) { return _mm512_castps_si512(a); }
INLINE vf vi_bits(vi a) { return _mm512_castsi512_ps(a); }
INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
#define vi_shl(a, n) _mm512_slli_epi32(a, n)
#define vi_sar(a, n) _mm512_srai_epi32(a, n)
INLINE vi vi_shl_by(vi a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
INLINE vf vi_to_float(vi a) { return _mm512_cvtepi32_ps(a); }

/* a * 2^n for an integer n, rounded once; the instruction knows denormals and overflow. */
INLINE vf vf_scale(vf a, vf n, vf rounded) {
    (void)rounded;
    return _mm512_scalef_ps(a, n);
}
/* x as an integer and what is left of it, within [-1/2, 1/2]; -infinity leaves 0. */
INLINE vf vf_split(vf x, vf *n, vf *rounded) {
    const vf rest = _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    *rounded = *n = vf_sub(x, rest);
    return rest;
}

/* table[index[l]] of at most VF_TABLE floats, which stay in registers: loads lane by lane take eight
 * times as long. */
#define VF_TABLE 64
typedef struct vf_table {
    vf part[VF_TABLE / VF_N];
} vf_table;
INLINE vf_table vf_table_load(const float *p, size_t n) {
    vf_table table;
    for (size_t i = 0; i < VF_TABLE / VF_N; i++)
        table.part[i] = n >= (i + 1) * VF_N ? vf_load(p + i * VF_N)
                        : n > i * VF_N      ? vf_load_part(p + i * VF_N, n - i * VF_N)
                                            : vf_zero();
    return table;
}
INLINE vf vf_table_look(const vf_table *table, const int32_t *index) {
    const vi at = _mm512_loadu_si512(index);
    const vf low = _mm512_permutex2var_ps(table->part[0], at, table->part[1]);
    const vf high = _mm512_permutex2var_ps(table->part[2], at, table->part[3]);
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(at, vi_set(32)), low, high);
}

/* Pairs in memory: a0 b0 a1 b1 ... */
INLINE void vf_store_pairs(float *p, vf a, vf b) {
    const vi low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    vf_store(p, _mm512_permutex2var_ps(a, low, b));
    vf_store(p + VF_N, _mm512_permutex2var_ps(a, vi_add(low, vi_set(8)), b));
}
INLINE void vf_load_pairs(const float *p, vf *a, vf *b) {
    const vi even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const vf x = vf_load(p), y = vf_load(p + VF_N);
    *a = _mm512_permutex2var_ps(x, even, y);
    *b = _mm512_permutex2var_ps(x, vi_add(even, vi_set(1)), y);
}

/* Quantized numbers: vectors of halves and bytes from memory; of 32-bit words the byte t, and the half byte t counted
 * as panels have them, 8 to a word. t is a literal. */
INLINE vi vi_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE void vi_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
INLINE vi vi_max(vi a, vi b) { return _mm512_max_epi32(a, b); }
INLINE vi vf_round(vf a) { return _mm512_cvtps_epi32(a); } /* to nearest, ties to even */
INLINE void vi_store_bytes(int8_t *p, vi a) {              /* the lowest byte of each */
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(a));
}
INLINE vi vi_bytes(vi a, vi b, vi c,
                   vi d) { /* the same of four vectors, of numbers that fit into one */
    const vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(
        order, _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d)));
}
INLINE vf vf_load_f16(const void *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
INLINE vf vf_load_bf16(const void *p) {
    return vi_bits(vi_shl(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
/* f16 in the low and in the high halves of words, as f32. */
INLINE vf vf_low_f16(vi words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)); }
INLINE vf vf_high_f16(vi words) { return vf_low_f16(_mm512_srli_epi32(words, 16)); }
INLINE vf vf_load_i8(const void *p) {
    return vi_to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
/* The byte as the last bits of 2^23 + 128 + byte: one shift, where a conversion needs two. */
#define vf_byte(w, t)                                                                    \
    vf_sub(vi_bits(_mm512_ternarylogic_epi32(_mm512_srli_epi32(w, 8 * (t)), vi_set(255), \
                                             vi_set(0x4b000080), 0x6a)),                 \
           vf_set(8388736))
/* a table of the sixteen numbers, of whose index only the lowest four bits count */
#define vf_nibble(w, t) \
    _mm512_permutexvar_ps(_mm512_srli_epi32(w, (t) % 4 * 8 + (t) / 4 * 4), vf_nibbles())
INLINE vf vf_nibbles(void) {
    return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
}

/* Sums and extremes over the lanes: of the two halves together. */
INLINE __m256 vf_lower(vf a) { return _mm512_castps512_ps256(a); }
INLINE __m256 vf_upper(vf a) { return _mm512_extractf32x8_ps(a, 1); }
INLINE float vf_sum(vf a) { return eight_add(_mm256_add_ps(vf_lower(a), vf_upper(a))); }
INLINE float vf_largest(vf a) { return eight_max(_mm256_max_ps(vf_lower(a), vf_upper(a))); }
INLINE float vf_smallest(vf a) { return eight_min(_mm256_min_ps(vf_lower(a), vf_upper(a))); }

/* From here on v is a value in a register, not a load that can be done again at each use. */
#define vf_keep(v)             __asm__("" : "+v"(v))

/* c += a*b for accumulators: as an instruction, so that the compiler keeps operands in registers. */
#define vf_accumulate(c, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))

#include "kernels/simd/simd_shared.h"

#endif
