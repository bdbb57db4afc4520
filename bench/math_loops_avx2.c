/* Loops over vector functions with AVX2, eight floats a call. */
#include "kernels/simd/simd_avx2.h"

#include "math_loops_body.h"
