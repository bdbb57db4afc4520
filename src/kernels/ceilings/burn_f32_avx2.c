/* burn_f32 with AVX2: 12 chains cover pipes times latency. */
#include "kernels/simd/simd_avx2.h"

enum { CHAINS = 12 };
#include "kernels/ceilings/burn_f32_body.h"
