/* fused_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#include "kernels/fused/fused_f32_body.h"
