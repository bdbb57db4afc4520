/* depthwise_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

enum { ROWS = 2 };

#include "kernels/conv/depthwise_f32_body.h"
