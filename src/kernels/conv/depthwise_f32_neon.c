/* depthwise_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

enum { ROWS = 4 };

#include "kernels/conv/depthwise_f32_body.h"
