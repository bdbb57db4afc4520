/* depthwise_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

enum { ROWS = 4 };

#include "kernels/conv/depthwise_f32_body.h"
