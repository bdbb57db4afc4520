/* f32_to_bf16 with NEON. */
#include "kernels/kernels.h"

#include <arm_neon.h>

static inline uint16x4_t round_bits(float32x4_t x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t even = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(even, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
}

void eg__f32_to_bf16_neon(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1_u16(y + i, round_bits(vld1q_f32(x + i)));
    for (; i < n; i++) y[i] = vget_lane_u16(round_bits(vdupq_n_f32(x[i])), 0);
}
