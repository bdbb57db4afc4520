/* infile_q8i8 and infile_q4i8 with AVX2, whose products of bytes want one side without a sign and add pairs
 * within 16 bits: 2 * 128 * 127 still fits. The sign of a number moves to the one beside it, which is
 * never -128; half bytes stay raised by 8, and sums begin with what that will add too much. */
#include "kernels/simd/simd_avx2.h"
#include "kernels/quantized/infile.h"
#include "kernels/quantized/infile_integer_x86.h"

enum { MAX_ROWS = 3, MAX_PANELS = 1, RAISED_8 = 0, RAISED_4 = 8 };

/* clang-format off */
#define TILES(X, format) X(format, 3, 1) X(format, 2, 1) X(format, 1, 1)
/* clang-format on */

INLINE number block_load(const int format, const uint8_t *block) {
    if (format == EG__INFILE_Q8_0) return bytes_load((const int8_t *)block + 2);
    return nibbles_load(block + 2);
}
/* Products of bytes, four to a lane. */
INLINE __m256i products(const int format, __m256i a, __m256i w) {
    const __m256i pairs = format == EG__INFILE_Q8_0
                              ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w))
                              : _mm256_maddubs_epi16(w, a);
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
INLINE begin block_begin(const int format, const int8_t *a) {
    const __m256i zero = _mm256_setzero_si256();
    if (format == EG__INFILE_Q8_0) return zero;
    return _mm256_sub_epi32(zero, products(format, bytes_load(a), _mm256_set1_epi8(RAISED_4)));
}
INLINE sum block_add(const int format, sum s, number x, const int8_t *a, begin first, float scale) {
    __m256i all = products(format, bytes_load(a), x);
    if (format == EG__INFILE_Q4_0) all = _mm256_add_epi32(all, first);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(all), _mm256_set1_ps(scale), s);
}

#define DOT(format, sum, a, w) ((sum) = vi_add(sum, products(format, a, w)))

#include "kernels/quantized/infile_integer_body.h"
