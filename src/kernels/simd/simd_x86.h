/* What AVX2 and AVX-512 share: included first by simd_avx2.h and simd_avx512.h. */
#ifndef EG__SIMD_X86_H
#define EG__SIMD_X86_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRANSPOSE eg__transpose_f32_avx2 /* the quickest where these instructions are */
#define INLINE    static inline __attribute__((always_inline))

/* Sums and extremes of eight floats, always in the same order. */
#define EIGHT(op)                                                                         \
    INLINE float eight_##op(__m256 y) {                                                   \
        __m128 x = _mm_##op##_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1)); \
        x = _mm_##op##_ps(x, _mm_movehl_ps(x, x));                                        \
        return _mm_cvtss_f32(_mm_##op##_ss(x, _mm_movehdup_ps(x)));                       \
    }
EIGHT(add)
EIGHT(max)
EIGHT(min)
#undef EIGHT

/* The float at base + row*stride bytes + 4*offset in every lane, for a row of 0, 1 or 2. Written as an
 * instruction, because gcc adds stride and offset beforehand, once for each, moves what then no
 * longer fits into its registers through the vector pipes, and loads so early that accumulators
 * spill. */
#define vf_broadcast_row(out, base, stride, row, offset)                         \
    do {                                                                         \
        if ((row) == 0) BROADCAST(out, "%c3(%1)", base, stride, offset);         \
        else if ((row) == 1) BROADCAST(out, "%c3(%1,%2)", base, stride, offset); \
        else BROADCAST(out, "%c3(%1,%2,2)", base, stride, offset);               \
    } while (0)
#define BROADCAST(out, address, base, stride, offset) \
    __asm__("vbroadcastss " address ", %0"            \
            : "=" ANY_REGISTER(out)                   \
            : "r"(base), "r"(stride), "i"(4 * (offset)), "m"(*(const float(*)[1 << 28])(base)))

#endif
