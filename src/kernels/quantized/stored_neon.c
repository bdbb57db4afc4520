/* stored_f32, stored_f16, stored_bf16, stored_q8 and stored_q4 with NEON. */
#include "kernels/simd/simd_neon.h"

enum { MAX_SUMS = 16 };

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return vgetq_lane_f32(vf_load_f16(block), 0);
}

#include "kernels/quantized/stored_body.h"
