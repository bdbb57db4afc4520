/* rmsnorm_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

#define NORM_NAME SIMD(eg__rmsnorm_f32)
#define CENTERED  0
#include "kernels/rows/norm_f32_body.h"
