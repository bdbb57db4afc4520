/* synapses_dp_f32 with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#include "kernels/liquid/synapses_dp_f32_body.h"
