/* burn_f32 with NEON: 24 chains cover pipes times latency. */
#include "kernels/simd/simd_neon.h"

enum { CHAINS = 24 };
#include "kernels/ceilings/burn_f32_body.h"
