/* unfold_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/conv/unfold_f32_body.h"
