/* cfc_gate_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/cfc_gate_f32_body.h"
