/* attention_cached_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

/* The sums of four vectors. */
INLINE void vf_sums(vf a, vf b, vf c, vf d, float out[4]) {
    vst1q_f32(out, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
}

#include "kernels/attention/attention_cached_f32_body.h"
