/* ltc_update_f32 with AVX2. */
#include "kernels/simd_avx2.h"

#include "kernels/ltc_update_f32_body.h"
