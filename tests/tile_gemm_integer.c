/* gemm_i8i8 of kernels/tile, whose instructions the model executes. */
#include "tile_model.h"

#define ROW_QUANTIZE(b, x, to, row, ahead) ((void)(ahead), eg__quantize_row(b, x, to, row))
#define OTHERWISE                          eg__gemm_i8i8_ref
#define TILE_ROW(name)                     name##_modelled
#include "kernels/tile/gemm_integer_tile_body.h"
