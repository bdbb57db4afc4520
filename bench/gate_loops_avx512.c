/* The gate by hand with AVX-512. */
#include "kernels/simd/simd_avx512.h"

#include "gate_loops_body.h"
