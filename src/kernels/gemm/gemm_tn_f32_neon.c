/* gemm_tn_f32 with NEON: tiles of 6 x 16 hold 24 of 32 registers. */
#include "kernels/simd/simd_neon.h"

enum { TILE_VECTORS = 4 };
#define WIDTHS(X) X(4) X(3) X(2) X(1)

#include "kernels/gemm/gemm_tn_f32_body.h"
