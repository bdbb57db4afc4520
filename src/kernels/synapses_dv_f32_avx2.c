/* synapses_dv_f32 with AVX2. */
#include "kernels/simd_avx2.h"

#include "kernels/synapses_dv_f32_body.h"
