/* gemm_i8i8 with Intel's AMX; rows of A become integers with AVX-512, which all its processors have. */
#include "kernels/simd/simd_avx512.h"
#include "kernels/tile/tile.h"

#define DOT_I8(sum, a, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(w))
#include "kernels/quantized/integer_rows.h"

#define ROW_QUANTIZE(b, x, to, row, ahead) row_quantize(b, x, to, row, 0, ahead)
#define OTHERWISE                          eg__gemm_i8i8_avx512
#define TILE_ROW(name)                     name##_amxtile
#include "kernels/tile/gemm_integer_tile_body.h"
