/* column_sum_f32 for any vector width: included by column_sum_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/unroll.h"

/* Columns that are summed at once: each row of them is a few lines of memory that lie together. */
enum { ABREAST = 4 };

/* `vectors` vectors of columns, of which the last one has `rest` columns; 0 = all of them. */
INLINE void strip(const int vectors, size_t rest, const eg__column_sum_f32_args *args,
                  size_t column) {
    const vf scale = vf_set(args->mean ? 1.0f / (float)args->rows : 1.0f);
    vf total[ABREAST];
    UNROLL
    for (int v = 0; v < vectors; v++) total[v] = vf_zero();
    for (size_t row = 0; row < args->rows; row += EG__COLUMN_SUM_BLOCK) {
        const size_t end = eg__min(args->rows, row + EG__COLUMN_SUM_BLOCK);
        vf part[ABREAST];
        UNROLL
        for (int v = 0; v < vectors; v++) part[v] = vf_zero();
        for (size_t r = row; r < end; r++) {
            const float *x = args->x + r * args->x_stride + column;
            UNROLL
            for (int v = 0; v < vectors; v++)
                part[v] = vf_add(part[v],
                                 rest ? vf_load_part(x + v * VF_N, rest) : vf_load(x + v * VF_N));
        }
        UNROLL
        for (int v = 0; v < vectors; v++) total[v] = vf_add(total[v], part[v]);
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vf mean = args->mean ? vf_mul(total[v], scale) : total[v];
        if (rest) vf_store_part(args->y + column + v * VF_N, mean, rest);
        else vf_store(args->y + column + v * VF_N, mean);
    }
}

void SIMD(eg__column_sum_f32)(const eg__column_sum_f32_args *args) {
    size_t column = 0;
    for (; column + ABREAST * VF_N <= args->columns; column += ABREAST * VF_N)
        strip(ABREAST, 0, args, column);
    for (; column + VF_N <= args->columns; column += VF_N) strip(1, 0, args, column);
    if (column < args->columns) strip(1, args->columns - column, args, column);
}
