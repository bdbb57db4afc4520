/* cfc_gate_back_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/liquid/cfc_gate_back_f32_body.h"
