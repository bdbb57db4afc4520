/* attention_dq_f32 with NEON. */
#include "kernels/simd_neon.h"

#include "kernels/attention_dq_f32_body.h"
