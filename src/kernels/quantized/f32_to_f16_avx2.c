/* f32_to_f16 with F16C. */
#include "kernels/kernels.h"

#include <immintrin.h>

void eg__f32_to_f16_avx2(size_t n, const float *x, uint16_t *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) y[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}
