/* column_sum_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/rows/column_sum_f32_body.h"
