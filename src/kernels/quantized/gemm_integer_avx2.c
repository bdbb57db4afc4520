/* gemm_i8i8 and gemm_i4i8 with AVX2, whose products of bytes want one side without a sign and add pairs
 * within 16 bits: 2 * 128 * 127 still fits. The sign of a weight moves to the number beside it, which is
 * never -128; half bytes are raised by 8, and what that adds is taken off again. */
#include "kernels/simd/simd_avx2.h"

enum { MAX_ROWS = 4, HELD_ROWS = 2, MAX_PANELS = 4, BIAS_A = 0, BIAS_W = 8 };
#define TILE_PANELS(rows, n) ((rows) == 1 && (n) >= 4 ? 4 : 1)

/* clang-format off */
#define TILES(X, type) X(type, 4, 1) X(type, 3, 1) X(type, 2, 1) X(type, 1, 4) X(type, 1, 1)
/* clang-format on */

INLINE vi add_pairs(vi sum, vi pairs) {
    return vi_add(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
/* (w & 15) ^ 8 of every byte */
INLINE vi raised_low(vi w) {
    return _mm256_xor_si256(vi_and(w, vi_set(0x0f0f0f0f)), vi_set(0x08080808));
}
#define DOT_I8(sum, a, w) \
    ((sum) = add_pairs(sum, _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w))))
#define DOT_I4(sum, a, b, w)                                           \
    ((sum) = add_pairs(                                                \
         sum, _mm256_add_epi16(_mm256_maddubs_epi16(raised_low(w), a), \
                               _mm256_maddubs_epi16(raised_low(_mm256_srli_epi32(w, 4)), b))))

#include "kernels/quantized/gemm_integer_body.h"
