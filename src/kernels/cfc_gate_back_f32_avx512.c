/* cfc_gate_back_f32 with AVX-512. */
#include "kernels/simd_avx512.h"

#include "kernels/cfc_gate_back_f32_body.h"
