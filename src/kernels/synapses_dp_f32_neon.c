/* synapses_dp_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/synapses_dp_f32_body.h"
