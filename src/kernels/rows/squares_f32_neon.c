/* squares_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/rows/squares_f32_body.h"
