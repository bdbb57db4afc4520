/* f32_to_bf16 with AVX-512, without vcvtneps2bf16, which takes denormal numbers for 0. */
#include "kernels/kernels.h"

#include <immintrin.h>

static inline __m256i rounded(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i even = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i nearest =
        _mm512_add_epi32(bits, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i all = _mm512_mask_or_epi32(nearest, nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(all, 16));
}

void eg__f32_to_bf16_avx512(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(y + i), rounded(_mm512_loadu_ps(x + i)));
    const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    if (rest) _mm256_mask_storeu_epi16(y + i, rest, rounded(_mm512_maskz_loadu_ps(rest, x + i)));
}
