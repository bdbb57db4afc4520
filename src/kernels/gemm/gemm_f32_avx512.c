/* gemm_f32 with AVX-512: tiles of 8 x 48 hold 24 of 32 registers. No more than eight rows: rows of
 * C a power of two apart share a cache set of eight ways. */
#include "kernels/simd/simd_avx512.h"

enum { MAX_ROWS = 8, MAX_VECTORS = 6, WIDTH_UNIT = 1 };
#define TILE_WIDTH(rows) ((rows) > 6 ? 3 : (rows) > 4 ? 4 : 6)
#define row_limit(m, n)  MAX_ROWS

/* Half of a vector would be idle: vectors of eight waste less. */
#define is_narrow(n)     ((n) <= 24 && (n) % 16 > 0 && (n) % 16 <= 8)
#define narrow_product   eg__gemm_f32_avx2

/* clang-format off */
#define WIDTHS_3(X, rows) X(rows, 3, 0) X(rows, 2, 0) X(rows, 1, 0)
#define WIDTHS_4(X, rows) X(rows, 4, 0) WIDTHS_3(X, rows)
#define WIDTHS_6(X, rows) X(rows, 6, 0) X(rows, 5, 0) WIDTHS_4(X, rows)
#define TILES(X) \
    WIDTHS_3(X, 8) WIDTHS_3(X, 7) WIDTHS_4(X, 6) WIDTHS_4(X, 5) WIDTHS_6(X, 4) WIDTHS_6(X, 3) WIDTHS_6(X, 2)
/* clang-format on */

#include "kernels/gemm/gemm_f32_body.h"
