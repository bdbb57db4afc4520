/* infile_q8i8 and infile_q4i8 with what every NEON has: products of bytes in 16 bits, where the sum of two of
 * them still fits. */
#include "kernels/simd/simd_neon.h"
#include "kernels/quantized/infile.h"

INLINE vi dot_bytes(vi sum, int8x16_t x, int8x16_t y) {
    return vpadalq_s16(sum,
                       vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y)));
}

#include "kernels/quantized/infile_integer_arm.h"

#include "kernels/quantized/infile_integer_body.h"
