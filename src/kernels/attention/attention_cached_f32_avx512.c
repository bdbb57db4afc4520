/* attention_cached_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

/* The sums of four vectors. */
INLINE __m256 vf_half(vf a) { return _mm256_add_ps(_mm512_castps512_ps256(a), vf_upper(a)); }
INLINE void vf_sums(vf a, vf b, vf c, vf d, float out[4]) {
    const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(vf_half(a), vf_half(b)),
                                      _mm256_hadd_ps(vf_half(c), vf_half(d)));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

#include "kernels/attention/attention_cached_f32_body.h"
