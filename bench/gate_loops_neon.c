/* The gate by hand with NEON. */
#include "kernels/simd_neon.h"

#include "gate_loops_body.h"
