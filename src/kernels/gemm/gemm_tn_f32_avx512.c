/* gemm_tn_f32 with AVX-512: tiles of 6 x 64 hold 24 of 32 registers. */
#include "kernels/simd/simd_avx512.h"

enum { TILE_VECTORS = 4 };
#define WIDTHS(X) X(4) X(3) X(2) X(1)

#include "kernels/gemm/gemm_tn_f32_body.h"
