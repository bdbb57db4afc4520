/* gemm_i8i8 and gemm_i4i8 with the dot products of ARMv8.2: tiles of 6 x 16 hold 24 of 32 registers. */
#include "kernels/simd/simd_neon.h"
#undef SIMD
#define SIMD(name) name##_dotprod

enum { MAX_ROWS = 6, HELD_ROWS = 3, MAX_PANELS = 4, BIAS_A = 0, BIAS_W = 0 };
#define TILE_PANELS(rows, n) ((rows) == 1 && (n) >= 4 ? 4 : 1)

/* clang-format off */
#define TILES(X, type) \
    X(type, 6, 1) X(type, 5, 1) X(type, 4, 1) X(type, 3, 1) X(type, 2, 1) X(type, 1, 4) X(type, 1, 1)
/* clang-format on */

INLINE vi dot(vi sum, vi a, int8x16_t w) { return vdotq_s32(sum, vreinterpretq_s8_s32(a), w); }
INLINE vi dot_i4(vi sum, vi a, vi b, vi w) {
    const int8x16_t x = vreinterpretq_s8_s32(w);
    return dot(dot(sum, a, vshrq_n_s8(vshlq_n_s8(x, 4), 4)), b, vshrq_n_s8(x, 4));
}
#define DOT_I8(sum, a, w)    ((sum) = dot(sum, a, vreinterpretq_s8_s32(w)))
#define DOT_I4(sum, a, b, w) ((sum) = dot_i4(sum, a, b, w))

#include "kernels/quantized/gemm_integer_body.h"
