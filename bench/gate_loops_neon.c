/* The gate by hand with NEON. */
#include "kernels/simd/simd_neon.h"

#include "gate_loops_body.h"
