/* depthwise_dw_f32 with AVX2. */
#include "kernels/simd_avx2.h"

#include "kernels/depthwise_dw_f32_body.h"
