/* f32_to_bf16 with AVX2. */
#include "kernels/kernels.h"

#include <immintrin.h>

static inline __m256i round_bits(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(nan)), 16);
}

void eg__f32_to_bf16_avx2(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m256i low = round_bits(_mm256_loadu_ps(x + i));
        __m256i high = round_bits(_mm256_loadu_ps(x + i + 8));
        __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
        _mm256_storeu_si256((__m256i *)(y + i), packed);
    }
    for (; i < n; i++) y[i] = (uint16_t)_mm256_extract_epi32(round_bits(_mm256_set1_ps(x[i])), 0);
}
