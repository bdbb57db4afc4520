/* cfc_gate_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/liquid/cfc_gate_f32_body.h"
