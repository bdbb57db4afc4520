/* Samples side by side in lanes: what the kernels over synapses share. Included after a simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

#include <string.h>

enum { BLOCK = EG__SYNAPSES_BLOCK };

#define EACH_VECTOR(n) \
    UNROLL             \
    for (int l = 0; l < (n); l++)

/* The lanes of `rows` samples, from `first` on. */
INLINE void block_zero(size_t first, size_t rows, size_t columns, float *to) {
    const size_t wide = eg__round_up(rows, VF_N);
    for (size_t c = 0; c < columns; c++)
        for (size_t r = first; r < wide; r += VF_N) vf_store(to + c * BLOCK + r, vf_zero());
}

/* [rows][columns] to [columns][BLOCK]; lanes without a sample are 0 in the last vector. */
INLINE void block_load(size_t rows, size_t columns, const float *from, size_t stride, float *to) {
    const eg__move_f32_args args = {rows, columns, from, stride, to, BLOCK};
    if (rows % VF_N) block_zero(rows - rows % VF_N, rows, columns, to);
    TRANSPOSE(&args);
}

INLINE void block_store(size_t rows, size_t columns, const float *from, float *to, size_t stride) {
    const eg__move_f32_args args = {columns, rows, from, BLOCK, to, stride};
    TRANSPOSE(&args);
}
