/* gemm_i8i8 and gemm_i4i8 with what every NEON has: products of bytes in 16 bits, where the sum of two
 * of them still fits. */
#include "kernels/simd/simd_neon.h"

enum { MAX_ROWS = 4, HELD_ROWS = 3, MAX_PANELS = 4, BIAS_A = 0, BIAS_W = 0 };
#define TILE_PANELS(rows, n) ((rows) == 1 && (n) >= 4 ? 4 : 1)

/* clang-format off */
#define TILES(X, type) \
    X(type, 4, 1) X(type, 3, 1) X(type, 2, 1) X(type, 1, 4) X(type, 1, 1)
/* clang-format on */

INLINE int8x16_t bytes(vi x) { return vreinterpretq_s8_s32(x); }
/* Products of the lower and of the upper eight bytes: neighbours added twice. */
INLINE vi add_products(vi sum, int16x8_t low, int16x8_t high) {
    return vpadalq_s16(sum, vpaddq_s16(low, high));
}
INLINE vi dot_i8(vi sum, vi a, vi w) {
    const int8x16_t x = bytes(a), y = bytes(w);
    return add_products(sum, vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y));
}
INLINE vi dot_i4(vi sum, vi a, vi b, vi w) {
    const int8x16_t low = vshrq_n_s8(vshlq_n_s8(bytes(w), 4), 4), high = vshrq_n_s8(bytes(w), 4);
    const int8x16_t x = bytes(a), y = bytes(b);
    return add_products(
        sum,
        vmlal_s8(vmull_s8(vget_low_s8(x), vget_low_s8(low)), vget_low_s8(y), vget_low_s8(high)),
        vmlal_high_s8(vmull_high_s8(x, low), y, high));
}
#define DOT_I8(sum, a, w)    ((sum) = dot_i8(sum, a, w))
#define DOT_I4(sum, a, b, w) ((sum) = dot_i4(sum, a, b, w))

#include "kernels/quantized/gemm_integer_body.h"
