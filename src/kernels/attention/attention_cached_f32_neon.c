/* attention_cached_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include <string.h>

INLINE vf vf_load_i8(const void *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}
/* The sums of four vectors. */
INLINE void vf_sums(vf a, vf b, vf c, vf d, float out[4]) {
    vst1q_f32(out, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

#include "kernels/attention/attention_cached_f32_body.h"
