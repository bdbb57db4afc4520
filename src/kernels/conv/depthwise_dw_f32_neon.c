/* depthwise_dw_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/conv/depthwise_dw_f32_body.h"
