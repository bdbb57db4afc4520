/* gemm_f16f16 with fmlal, which widens halves as it multiplies them: as many products as fmla of floats makes, of half the bytes,
 * exact and with sums of floats; fmla of halves would make twice as many and round each sum to eleven bits. */
#include "kernels/simd/simd_neon.h"
#include "kernels/rows/unroll.h"
#include "kernels/kernels.h"

#define GEMM eg__gemm_f16f16_fhm

/* Rows of sixteen columns instead of pairs of rows. */
INLINE void right_make(size_t pairs, const uint16_t *from, uint16_t *to) {
    for (; pairs; pairs--, from += 32, to += 32) UNROLL
    for (int v = 0; v < 2; v++) {
        const uint16x8x2_t rows = vld2q_u16(from + 16 * v);
        vst1q_u16(to + 8 * v, rows.val[0]);
        vst1q_u16(to + 16 + 8 * v, rows.val[1]);
    }
}

INLINE float16x8_t halves(const uint16_t *x) { return vreinterpretq_f16_u16(vld1q_u16(x)); }

INLINE void right_sums(const int rows, size_t pairs, const uint16_t *a, size_t stride,
                       const uint16_t *b, vf to[6][4]) {
    vf sum[6][4];
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 4; v++) sum[i][v] = vf_zero();
    }
    for (size_t k = 2 * pairs; k; k--, a++, b += 16) {
        const float16x8_t first = halves(b), second = halves(b + 8);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const uint16_t *at = a + (size_t)i * stride;
            /* loaded when it is its turn: with all of them loaded ahead, sums would have no registers */
            __asm__ volatile("" : "+r"(at));
            const float16x8_t left = vreinterpretq_f16_u16(vld1q_dup_u16(at));
            sum[i][0] = vfmlalq_low_f16(sum[i][0], first, left);
            sum[i][1] = vfmlalq_high_f16(sum[i][1], first, left);
            sum[i][2] = vfmlalq_low_f16(sum[i][2], second, left);
            sum[i][3] = vfmlalq_high_f16(sum[i][3], second, left);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 4; v++) to[i][v] = sum[i][v];
    }
}

#include "kernels/gemm/gemm_pairs_body.h"
