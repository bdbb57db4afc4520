/* gemm_bf16bf16 of kernels/tile, whose instructions the model executes. */
#include "tile_model.h"

#define TILE_ROW(name) name##_modelled
#include "kernels/tile/gemm_halves_tile_body.h"
