/* gemm_tn_f32 with AVX2: tiles of 6 x 16 hold twelve of sixteen registers. */
#include "kernels/simd/simd_avx2.h"

enum { TILE_VECTORS = 2 };
#define WIDTHS(X) X(2) X(1)

#include "kernels/gemm/gemm_tn_f32_body.h"
