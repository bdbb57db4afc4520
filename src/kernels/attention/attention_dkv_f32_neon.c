/* attention_dkv_f32 with NEON. */
#include "kernels/simd/simd_neon.h"

#include "kernels/attention/attention_dkv_f32_body.h"
