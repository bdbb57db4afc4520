/* read_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/ceilings/read_f32_body.h"
