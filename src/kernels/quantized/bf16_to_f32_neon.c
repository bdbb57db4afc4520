/* bf16_to_f32 with NEON. */
#include "kernels/kernels.h"

#include <arm_neon.h>

void eg__bf16_to_f32_neon(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(x + i), 16)));
    for (; i < n; i++)
        y[i] = vgetq_lane_f32(vreinterpretq_f32_u32(vshll_n_u16(vdup_n_u16(x[i]), 16)), 0);
}
