/* synapses_dv_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/liquid/synapses_dv_f32_body.h"
