/* rmsnorm_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#define NORM_NAME SIMD(eg__rmsnorm_f32)
#define CENTERED  0
#include "kernels/rows/norm_f32_body.h"
