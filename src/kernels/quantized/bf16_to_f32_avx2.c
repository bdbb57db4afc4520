/* bf16_to_f32 with AVX2. */
#include "kernels/kernels.h"

#include <immintrin.h>
#include <string.h>

void eg__bf16_to_f32_avx2(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(x + i)));
        _mm256_storeu_ps(y + i, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
    }
    for (; i < n; i++) {
        uint32_t bits = (uint32_t)x[i] << 16;
        memcpy(&y[i], &bits, sizeof bits);
    }
}
