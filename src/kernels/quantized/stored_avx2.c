/* stored_f32, stored_f16, stored_bf16, stored_q8 and stored_q4 with AVX2. */
#include "kernels/simd/simd_avx2.h"

enum { MAX_SUMS = 8 };

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)block)));
}

#include "kernels/quantized/stored_body.h"
