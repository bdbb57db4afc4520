/* transpose_f32 for any square block: included by transpose_f32_<isa>.c after block_transpose(x,
 * x_stride, y, y_stride), which turns SIDE x SIDE floats. */
#include "kernels/kernels.h"

/* Strips of 64 columns: the lines of x and of y that a strip touches stay in the first cache. */
void SIMD(eg__transpose_f32)(const eg__move_f32_args *args) {
    enum { STRIP = 64 };
    const size_t rows = args->rows, columns = args->columns;
    const size_t xs = args->x_stride, ys = args->y_stride;
    for (size_t strip = 0; strip < columns; strip += STRIP) {
        const size_t end = eg__min(strip + STRIP, columns);
        for (size_t r = 0; r < rows; r += SIDE)
            for (size_t c = strip; c < end; c += SIDE) {
                const float *x = args->x + r * xs + c;
                float *y = args->y + c * ys + r;
                if (r + SIDE <= rows && c + SIDE <= end) {
                    block_transpose(x, xs, y, ys);
                    continue;
                }
                for (size_t i = 0; i < eg__min(SIDE, rows - r); i++)
                    for (size_t j = 0; j < eg__min(SIDE, end - c); j++)
                        y[j * ys + i] = x[i * xs + j];
            }
    }
}
