/* stored_q8i8 and stored_q4i8 with the dot products of ARMv8.2. */
#include "kernels/simd_neon.h"
#include "kernels/stored.h"
#undef SIMD
#define SIMD(name) name##_dotprod

INLINE vi dot_bytes(vi sum, int8x16_t x, int8x16_t y) { return vdotq_s32(sum, x, y); }

#include "kernels/stored_integer_arm.h"

#include "kernels/stored_integer_body.h"
