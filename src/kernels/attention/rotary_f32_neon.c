/* rotary_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/attention/rotary_f32_body.h"
