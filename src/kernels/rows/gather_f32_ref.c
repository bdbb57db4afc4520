/* gather_f32: rows through memcpy. */
#include "kernels/kernels.h"

#include <string.h>

void eg__gather_f32_ref(const eg__gather_f32_args *args) {
    for (size_t r = 0; r < args->rows && args->columns; r++)
        memcpy(args->y + r * args->y_stride, args->x + (size_t)args->index[r] * args->x_stride,
               args->columns * sizeof(float));
}
