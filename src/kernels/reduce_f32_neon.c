/* reduce_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/reduce_f32_body.h"
