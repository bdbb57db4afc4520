/* gemm_f32 with NEON: tiles of 6 x 16 in 24 of 32 registers. */
#include "kernels/simd/simd_neon.h"

enum { MAX_ROWS = 6, MAX_VECTORS = 8, WIDTH_UNIT = 4 };
#define TILE_WIDTH(rows) ((rows) > 3 ? 4 : 8)
#define row_limit(m, n)  MAX_ROWS

#define is_narrow(n)     0
#define narrow_product   product

/* clang-format off */
#define WIDTHS_4(X, rows) X(rows, 4, 0) X(rows, 3, 0) X(rows, 2, 0) X(rows, 1, 0)
#define WIDTHS_8(X, rows) X(rows, 8, 0) X(rows, 7, 0) X(rows, 6, 0) X(rows, 5, 0) WIDTHS_4(X, rows)
#define TILES(X) WIDTHS_4(X, 6) WIDTHS_4(X, 5) WIDTHS_4(X, 4) WIDTHS_8(X, 3) WIDTHS_8(X, 2)
/* clang-format on */

#include "kernels/gemm/gemm_f32_body.h"
