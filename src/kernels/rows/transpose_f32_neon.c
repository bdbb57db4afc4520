/* transpose_f32 with NEON: 4 x 4 in registers. */
#include "kernels/simd/simd_neon.h"

enum { SIDE = 4 };

INLINE void block_transpose(const float *x, size_t xs, float *y, size_t ys) {
    float32x4x2_t low = vtrnq_f32(vld1q_f32(x), vld1q_f32(x + xs));
    float32x4x2_t high = vtrnq_f32(vld1q_f32(x + 2 * xs), vld1q_f32(x + 3 * xs));
    vst1q_f32(y, vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0])));
    vst1q_f32(y + ys, vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1])));
    vst1q_f32(y + 2 * ys, vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0])));
    vst1q_f32(y + 3 * ys, vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1])));
}

#include "kernels/rows/transpose_f32_body.h"
