/* ltc_update_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/liquid/ltc_update_f32_body.h"
