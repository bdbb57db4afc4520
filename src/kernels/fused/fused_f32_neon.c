/* fused_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/fused/fused_f32_body.h"
