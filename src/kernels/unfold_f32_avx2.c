/* unfold_f32 with AVX2. */
#include "kernels/simd_avx2.h"

#include "kernels/unfold_f32_body.h"
