/* layernorm_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#define NORM_NAME SIMD(eg__layernorm_f32)
#define CENTERED  1
#include "kernels/rows/norm_f32_body.h"
