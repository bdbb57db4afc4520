/* transpose_f32 with AVX2: 8 x 8 in registers. */
#include "kernels/simd/simd_avx2.h"
#include "kernels/rows/unroll.h"

enum { SIDE = 8 };

/* Pairs, then fours within each half, then the halves. */
INLINE void block_transpose(const float *x, size_t xs, float *y, size_t ys) {
    __m256 r[8], t[8];
    UNROLL
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(x + (size_t)i * xs);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(y + (size_t)i * ys, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(y + (size_t)(i + 4) * ys, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

#include "kernels/rows/transpose_f32_body.h"
