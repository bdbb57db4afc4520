/* cfc_gate_back_f32 with AVX2. */
#include "kernels/simd/simd_avx2.h"

#include "kernels/liquid/cfc_gate_back_f32_body.h"
