/* gemv_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

enum { MAX_VECTORS = 16, MAX_SUMS = 4 };
#define STRIPS(X) X(16, 1) X(12, 1) X(8, 2) X(4, 4)

#include "kernels/gemm/gemv_f32_body.h"
