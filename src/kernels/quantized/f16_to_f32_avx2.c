/* f16_to_f32 with F16C. */
#include "kernels/kernels.h"

#include <immintrin.h>

void eg__f16_to_f32_avx2(size_t n, const uint16_t *x, float *y) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
    for (; i < n; i++) y[i] = _cvtsh_ss(x[i]);
}
