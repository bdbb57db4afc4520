/* gemm_bf16bf16 with the products of 2 x 4 by 4 x 2 halves of ARMv8.6: rows and columns in twos, two pairs at a time. */
#include "kernels/simd/simd_neon.h"
#include "kernels/rows/unroll.h"
#include "kernels/kernels.h"

#define GEMM       eg__gemm_bf16bf16_bf16

/* Loaded when it is its turn: with all of them loaded ahead, sums would have no registers. */
#define IN_TURN(v) __asm__ volatile("" : "+w"(v))

/* Two pairs of each column side by side. */
INLINE void right_make(size_t pairs, const uint16_t *from, uint32_t *to) {
    for (; pairs; from += 64, to += 32, pairs -= pairs > 1 ? 2 : 1) UNROLL
    for (int v = 0; v < 4; v++) {
        const vi first = vi_load(from + 8 * v);
        const vi second = pairs > 1 ? vi_load(from + 32 + 8 * v) : vi_set(0);
        vi_store(to + 8 * v, vzip1q_s32(first, second));
        vi_store(to + 8 * v + 4, vzip2q_s32(first, second));
    }
}

/* Two pairs of two rows, or one pair. */
INLINE bfloat16x8_t left_load(const uint16_t *row, const uint16_t *other, const bool both) {
    if (both) return vreinterpretq_bf16_u16(vcombine_u16(vld1_u16(row), vld1_u16(other)));
    uint32_t words[4] = {0};
    memcpy(&words[0], row, sizeof *words);
    memcpy(&words[2], other, sizeof *words);
    return vreinterpretq_bf16_u32(vld1q_u32(words));
}

/* A product holds two rows of two columns each; an odd last row is taken twice. */
INLINE void turn(const int rows, const bool both, const uint16_t *a, size_t stride,
                 const uint16_t *b, vf square[3][8]) {
    const int twos = (rows + 1) / 2;
    bfloat16x8_t left[3];
    UNROLL
    for (int r = 0; r < twos; r++) {
        const uint16_t *row = a + (size_t)(2 * r) * stride;
        left[r] = left_load(row, 2 * r + 1 < rows ? row + stride : row, both);
    }
    UNROLL
    for (int v = 0; v < 8; v++) {
        bfloat16x8_t right = vreinterpretq_bf16_u16(vld1q_u16(b + 8 * v));
        IN_TURN(right);
        UNROLL
        for (int r = 0; r < twos; r++) square[r][v] = vbfmmlaq_f32(square[r][v], left[r], right);
    }
}

INLINE void right_sums(const int rows, size_t pairs, const uint16_t *a, size_t stride,
                       const uint16_t *b, vf sum[6][4]) {
    vf square[3][8];
    UNROLL
    for (int r = 0; r < (rows + 1) / 2; r++) {
        UNROLL
        for (int v = 0; v < 8; v++) square[r][v] = vf_zero();
    }
    for (; pairs > 1; a += 4, b += 64, pairs -= 2) turn(rows, true, a, stride, b, square);
    if (pairs) turn(rows, false, a, stride, b, square);
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int v = 0; v < 4; v++) {
            const vf x = square[i / 2][2 * v], y = square[i / 2][2 * v + 1];
            sum[i][v] = i % 2 ? vcombine_f32(vget_high_f32(x), vget_high_f32(y))
                              : vcombine_f32(vget_low_f32(x), vget_low_f32(y));
        }
    }
}

#include "kernels/gemm/gemm_pairs_body.h"
