/* read_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/read_f32_body.h"
