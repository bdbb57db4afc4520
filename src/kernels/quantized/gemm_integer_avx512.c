/* gemm_i8i8 and gemm_i4i8 with AVX-512 and its dot products of bytes, of which one side has no sign:
 * rows of A are raised by 128, half bytes by 8, and what that adds is taken off again. */
#include "kernels/simd/simd_avx512.h"

enum { MAX_ROWS = 8, HELD_ROWS = 4, MAX_PANELS = 8, BIAS_A = 128, BIAS_W = 8 };
#define TILE_PANELS(rows, n) ((rows) == 1 ? ((n) >= 8 ? 8 : (n) >= 2 ? 2 : 1) : (n) >= 3 ? 3 : 1)

/* clang-format off */
#define BOTH(X, type, rows) X(type, rows, 3) X(type, rows, 1)
#define TILES(X, type) \
    BOTH(X, type, 8) BOTH(X, type, 7) BOTH(X, type, 6) BOTH(X, type, 5) BOTH(X, type, 4) \
    BOTH(X, type, 3) BOTH(X, type, 2) X(type, 1, 8) X(type, 1, 2) X(type, 1, 1)
/* clang-format on */

/* (w & 15) ^ 8 of every byte */
INLINE vi raised_low(vi w) {
    return _mm512_ternarylogic_epi32(w, vi_set(0x0f0f0f0f), vi_set(0x08080808), 0x6a);
}

/* As an instruction: gcc otherwise keeps the sums of tall tiles in memory. */
#define DOT(sum, raised, other) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(raised), "v"(other))
#define DOT_I8(sum, a, w)       DOT(sum, a, w)
#define DOT_I4(sum, a, b, w)                              \
    do {                                                  \
        DOT(sum, raised_low(w), a);                       \
        DOT(sum, raised_low(_mm512_srli_epi32(w, 4)), b); \
    } while (0)

#include "kernels/quantized/gemm_integer_body.h"
