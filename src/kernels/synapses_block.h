/* Samples side by side in lanes: what the kernels over synapses share. Included after a simd header. */
#include "kernels/kernels.h"
#include "kernels/vmath.h"

#include <string.h>

enum { BLOCK = EG__SYNAPSES_BLOCK };

#define EACH_VECTOR(n) \
    UNROLL             \
    for (int l = 0; l < (n); l++)

/* [rows][columns] to [columns][BLOCK]; lanes without a sample are 0. */
INLINE void block_load(size_t rows, size_t columns, const float *from, size_t stride, float *to) {
    memset(to, 0, columns * BLOCK * sizeof *to);
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++) to[c * BLOCK + r] = from[r * stride + c];
}

INLINE void block_store(size_t rows, size_t columns, const float *from, float *to, size_t stride) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) to[r * stride + c] = from[c * BLOCK + r];
}
