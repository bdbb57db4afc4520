/* attention_cached_f32 with AVX-512. */
#include "kernels/simd_avx512.h"

INLINE vf vf_load_i8(const void *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

#include "kernels/attention_cached_f32_body.h"
