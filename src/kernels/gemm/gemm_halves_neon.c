/* gemm_f16f16 and gemm_bf16bf16 with NEON. */
#include "kernels/simd/simd_neon.h"

#define WIDEN_ROWS(type) eg__##type##_to_f32_neon

#include "kernels/gemm/gemm_halves_body.h"
