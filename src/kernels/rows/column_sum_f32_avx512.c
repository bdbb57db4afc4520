/* column_sum_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#include "kernels/rows/column_sum_f32_body.h"
