/* The definition of column_sum_f32. */
#include "kernels/kernels.h"

void eg__column_sum_f32_ref(const eg__column_sum_f32_args *args) {
    for (size_t c = 0; c < args->columns; c++) {
        double sum = 0;
        for (size_t r = 0; r < args->rows; r++) sum += args->x[r * args->x_stride + c];
        args->y[c] = (float)(args->mean ? sum / (double)args->rows : sum);
    }
}
