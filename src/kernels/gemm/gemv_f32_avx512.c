/* gemv_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

enum { MAX_VECTORS = 4, MAX_SUMS = 8 };
#define STRIPS(X) X(4, 2) X(3, 3) X(2, 4) X(1, 8)

#include "kernels/gemm/gemv_f32_body.h"
