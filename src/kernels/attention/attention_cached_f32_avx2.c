/* attention_cached_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

/* The sums of four vectors. */
INLINE void vf_sums(vf a, vf b, vf c, vf d, float out[4]) {
    const vf all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

#include "kernels/attention/attention_cached_f32_body.h"
