/* infile_f32, infile_f16, infile_bf16, infile_q8 and infile_q4 with NEON. */
#include "kernels/simd/simd_neon.h"

enum { MAX_SUMS = 16 };

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return vgetq_lane_f32(vf_load_f16(block), 0);
}

#include "kernels/quantized/infile_body.h"
