/* infile_q8i8 and infile_q4i8 with the dot products of ARMv8.2. */
#include "kernels/simd/simd_neon.h"
#include "kernels/quantized/infile.h"
#undef SIMD
#define SIMD(name) name##_dotprod

INLINE vi dot_bytes(vi sum, int8x16_t x, int8x16_t y) { return vdotq_s32(sum, x, y); }

#include "kernels/quantized/infile_integer_arm.h"

#include "kernels/quantized/infile_integer_body.h"
