/* rotary_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/rotary_f32_body.h"
