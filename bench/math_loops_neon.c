/* Loops over vector functions with NEON, four floats a call. */
#include "kernels/simd/simd_neon.h"

#include "math_loops_body.h"
