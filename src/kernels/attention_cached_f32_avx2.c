/* attention_cached_f32 with AVX2. */
#include "kernels/simd_avx2.h"

INLINE vf vf_load_i8(const void *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

#include "kernels/attention_cached_f32_body.h"
