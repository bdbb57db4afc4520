/* burn_f32 with AVX-512: 12 chains cover pipes times latency. */
#include "kernels/simd/simd_avx512.h"

enum { CHAINS = 12 };
#include "kernels/ceilings/burn_f32_body.h"
