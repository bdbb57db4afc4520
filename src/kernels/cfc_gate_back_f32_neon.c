/* cfc_gate_back_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/cfc_gate_back_f32_body.h"
