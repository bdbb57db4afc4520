/* column_sum_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/column_sum_f32_body.h"
