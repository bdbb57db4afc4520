/* gemm_f16, gemm_bf16, gemm_i8 and gemm_i4 with NEON: tiles of 6 x 16 hold 24 of 32 registers; one row
 * takes four panels, whose sixteen sums hide the latency of an FMA. */
#include "kernels/simd/simd_neon.h"

enum { MAX_ROWS = 6, MAX_PANELS = 4 };
#define TILE_PANELS(rows, n) ((rows) == 1 && (n) >= 4 ? 4 : 1)

/* clang-format off */
#define TILES(X, type) \
    X(type, 6, 1) X(type, 5, 1) X(type, 4, 1) X(type, 3, 1) X(type, 2, 1) X(type, 1, 4) X(type, 1, 1)
/* clang-format on */

#include "kernels/quantized/gemm_quantized_body.h"
