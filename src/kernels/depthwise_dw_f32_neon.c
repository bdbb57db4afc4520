/* depthwise_dw_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/depthwise_dw_f32_body.h"
