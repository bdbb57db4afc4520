/* ltc_update_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/ltc_update_f32_body.h"
