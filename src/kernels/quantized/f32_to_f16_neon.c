/* f32_to_f16 with NEON. */
#include "kernels/kernels.h"

#include <arm_neon.h>

void eg__f32_to_f16_neon(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
    for (; i < n; i++)
        y[i] = vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x[i]))), 0);
}
