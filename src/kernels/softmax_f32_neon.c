/* softmax_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/softmax_f32_body.h"
