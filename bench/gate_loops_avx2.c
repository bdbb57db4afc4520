/* The gate by hand with AVX2. */
#include "kernels/simd/simd_avx2.h"

#include "gate_loops_body.h"
