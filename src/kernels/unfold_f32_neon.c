/* unfold_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/unfold_f32_body.h"
