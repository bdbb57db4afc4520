/* gemv_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

enum { MAX_VECTORS = 8, MAX_SUMS = 4 };
#define STRIPS(X) X(8, 1) X(6, 2) X(4, 3) X(2, 4)

#include "kernels/gemm/gemv_f32_body.h"
