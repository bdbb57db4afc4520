/* The definition of transpose_f32. */
#include "kernels/kernels.h"

void eg__transpose_f32_ref(const eg__move_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++)
        for (size_t c = 0; c < args->columns; c++)
            args->y[c * args->y_stride + r] = args->x[r * args->x_stride + c];
}
