/* infile_q8i8 and infile_q4i8 with AVX-512 and its dot products of bytes, of which one side has no sign: numbers
 * of blocks are raised by 128 or 8, and sums begin with what that will add too much. */
#include "kernels/simd/simd_avx512.h"
#include "kernels/quantized/infile.h"
#include "kernels/quantized/infile_integer_x86.h"

enum { MAX_ROWS = 4, MAX_PANELS = 3, RAISED_8 = 128, RAISED_4 = 8 };

/* clang-format off */
#define WIDTHS(X, format, rows) X(format, rows, 3) X(format, rows, 2) X(format, rows, 1)
#define TILES(X, format) WIDTHS(X, format, 4) WIDTHS(X, format, 3) WIDTHS(X, format, 2) WIDTHS(X, format, 1)
/* clang-format on */

INLINE number block_load(const int format, const uint8_t *block) {
    if (format == EG__INFILE_Q8_0)
        return _mm256_xor_si256(bytes_load((const int8_t *)block + 2), _mm256_set1_epi8(-128));
    return nibbles_load(block + 2);
}
INLINE begin block_begin(const int format, const int8_t *a) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i raised =
        _mm256_set1_epi8((char)(format == EG__INFILE_Q8_0 ? RAISED_8 : RAISED_4));
    return _mm256_sub_epi32(zero, _mm256_dpbusd_epi32(zero, raised, bytes_load(a)));
}
INLINE sum block_add(const int format, sum s, number x, const int8_t *a, begin first, float scale) {
    (void)format;
    const __m256i all = _mm256_dpbusd_epi32(first, x, bytes_load(a));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(all), _mm256_set1_ps(scale), s);
}

/* As an instruction: gcc otherwise keeps sums in memory. */
#define DOT(format, sum, a, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(a))

#define ROW_QUADS              "kernels/quantized/infile_quads_avx512.h"
#include "kernels/quantized/infile_integer_body.h"
