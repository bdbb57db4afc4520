/* f16_to_f32 with NEON. */
#include "kernels/kernels.h"

#include <arm_neon.h>

void eg__f16_to_f32_neon(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
    for (; i < n; i++)
        y[i] = vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(x[i]))), 0);
}
