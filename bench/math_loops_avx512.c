/* Loops over vector functions with AVX-512, sixteen floats a call. */
#include "kernels/simd/simd_avx512.h"

#include "math_loops_body.h"
