/* infile_f32, infile_f16, infile_bf16, infile_q8 and infile_q4 with AVX2. */
#include "kernels/simd/simd_avx2.h"

enum { MAX_SUMS = 8 };

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)block)));
}

#include "kernels/quantized/infile_body.h"
