/* gemm_f16, gemm_bf16, gemm_i8 and gemm_i4 with AVX-512: tiles of 8 x 48 hold 24 of 32 registers; one
 * row takes four panels, whose sums hide the latency of an FMA. */
#include "kernels/simd/simd_avx512.h"

enum { MAX_ROWS = 8, MAX_PANELS = 8 };
#define TILE_PANELS(rows, n) ((rows) == 1 ? ((n) >= 8 ? 8 : (n) >= 2 ? 2 : 1) : (n) >= 3 ? 3 : 1)

/* clang-format off */
#define BOTH(X, type, rows) X(type, rows, 3) X(type, rows, 1)
#define TILES(X, type) \
    BOTH(X, type, 8) BOTH(X, type, 7) BOTH(X, type, 6) BOTH(X, type, 5) BOTH(X, type, 4) \
    BOTH(X, type, 3) BOTH(X, type, 2) X(type, 1, 8) X(type, 1, 2) X(type, 1, 1)
/* clang-format on */

#include "kernels/quantized/gemm_quantized_body.h"
