/* squares_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

#include "kernels/rows/squares_f32_body.h"
