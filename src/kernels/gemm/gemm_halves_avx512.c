/* gemm_f16f16 and gemm_bf16bf16 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#define WIDEN_ROWS(type) eg__##type##_to_f32_avx2

#include "kernels/gemm/gemm_halves_body.h"
