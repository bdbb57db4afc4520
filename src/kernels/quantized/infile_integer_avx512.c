/* infile_q8i8 and infile_q4i8 with AVX-512 and its dot products of bytes, of which one side has no sign: numbers
 * of blocks are raised by 128 or 8, and sums begin with what that will add too much. */
#include "kernels/simd/simd_avx512.h"
#include "kernels/quantized/infile.h"

enum { MAX_ROWS = 4, MAX_PANELS = 3, RAISED_8 = 128, RAISED_4 = 8 };

/* clang-format off */
#define WIDTHS(X, format, rows) X(format, rows, 3) X(format, rows, 2) X(format, rows, 1)
#define TILES(X, format) WIDTHS(X, format, 4) WIDTHS(X, format, 3) WIDTHS(X, format, 2) WIDTHS(X, format, 1)
/* clang-format on */

/* A block is 32 bytes, so are its vectors. */
typedef __m256i number;
typedef __m256 sum;

INLINE float block_scale(const uint8_t *block) { /* of four halves the first */
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)block)));
}
INLINE number block_load(const int format, const uint8_t *block) {
    if (format == EG__INFILE_Q8_0)
        return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(block + 2)),
                                _mm256_set1_epi8(-128));
    /* both halves of a vector are the same bytes: here the low ones count, there the high ones */
    const __m256i both =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(block + 2)));
    const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return _mm256_and_si256(_mm256_srlv_epi32(both, shifts), _mm256_set1_epi8(15));
}
INLINE void block_store(uint8_t *to, number x) { _mm256_storeu_si256((__m256i *)(void *)to, x); }
INLINE sum sum_zero(void) { return _mm256_setzero_ps(); }
INLINE float sum_all(sum s) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
typedef __m256i begin;
INLINE __m256i bytes_load(const int8_t *a) {
    return _mm256_loadu_si256((const __m256i *)(const void *)a);
}
INLINE begin block_begin(const int format, const int8_t *a) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i raised =
        _mm256_set1_epi8((char)(format == EG__INFILE_Q8_0 ? RAISED_8 : RAISED_4));
    return _mm256_sub_epi32(zero, _mm256_dpbusd_epi32(zero, raised, bytes_load(a)));
}
INLINE begin begin_with(int32_t start) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(start)); }
INLINE sum block_add(const int format, sum s, number x, const int8_t *a, begin first, float scale) {
    (void)format;
    const __m256i all = _mm256_dpbusd_epi32(first, x, bytes_load(a));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(all), _mm256_set1_ps(scale), s);
}

/* As an instruction: gcc otherwise keeps sums in memory. */
#define DOT(format, sum, a, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(a))

#define ROW_QUADS              "kernels/quantized/infile_quads_avx512.h"
#include "kernels/quantized/infile_integer_body.h"
