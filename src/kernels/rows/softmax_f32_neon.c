/* softmax_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/rows/softmax_f32_body.h"
