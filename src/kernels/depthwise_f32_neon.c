/* depthwise_f32 with NEON. */
#include "kernels/simd_neon.h"

enum { ROWS = 4 };

#include "kernels/depthwise_f32_body.h"
