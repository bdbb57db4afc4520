/* gemm_f32 with AVX2: twelve accumulators of sixteen registers keep both FMA pipes busy. */
#include "kernels/simd/simd_avx2.h"

enum { MAX_ROWS = 6, MAX_VECTORS = 4, WIDTH_UNIT = 1 };
/* 4 x 16 would stop at 82 % of the peak; 4 x 24 and 3 x 32 have twelve accumulators again. */
#define TILE_WIDTH(rows) ((rows) > 4 ? 2 : (rows) > 3 ? 3 : 4)
static inline unsigned long row_limit(unsigned long m, unsigned long n) {
    if (m <= 4) return 4;
    if (n > 16 && n <= 24) return 4;
    if (m < 24 && n > 24 && n <= 32) return 3;
    if (m == 7 || (m % 4 == 0 && m < 24 && m != 12)) return 4;
    return m == 9 ? 3 : MAX_ROWS;
}

#define is_narrow(n)   0
#define narrow_product product

/* clang-format off */
#define TILES(X) \
    X(6, 2, 0) X(6, 1, 0) X(5, 2, 0) X(5, 1, 0) \
    X(4, 3, 0) X(4, 3, 1) X(4, 2, 0) X(4, 2, 1) X(4, 1, 0) X(4, 1, 1) \
    X(3, 4, 0) X(3, 3, 0) X(3, 3, 1) X(3, 2, 0) X(3, 2, 1) X(3, 1, 0) X(3, 1, 1) \
    X(2, 4, 0) X(2, 3, 0) X(2, 3, 1) X(2, 2, 0) X(2, 2, 1) X(2, 1, 0)
/* clang-format on */

#include "kernels/gemm/gemm_f32_body.h"
