/* fused_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/fused_f32_body.h"
