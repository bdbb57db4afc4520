/* gemm_bf16bf16 with Intel's AMX. */
#include "kernels/tile/tile.h"

#define TILE_ROW(name) name##_amxtile
#include "kernels/tile/gemm_halves_tile_body.h"
