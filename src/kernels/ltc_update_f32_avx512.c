/* ltc_update_f32 with AVX-512. */
#include "kernels/simd_avx512.h"

#include "kernels/ltc_update_f32_body.h"
