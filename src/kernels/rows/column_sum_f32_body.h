/* column_sum_f32 for any vector width: included by column_sum_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

/* Columns that are summed at once: each row of them is a few lines of memory that lie together. */
enum { ABREAST = 4 };

/* `vectors` vectors of columns, of which the last one has `rest` columns if it is partial. Two rows at a time:
 * a sum waits for the one before. */
INLINE void strip(const int vectors, const bool partial, size_t rest,
                  const eg__column_sum_f32_args *args, size_t column) {
#define LOAD(p, v) (partial && v == vectors - 1 ? vf_load_part(p, rest) : vf_load(p))
    const vf scale = vf_set(args->mean ? 1.0f / (float)args->rows : 1.0f);
    const size_t stride = args->x_stride;
    vf total[ABREAST];
    UNROLL
    for (int v = 0; v < vectors; v++) total[v] = vf_zero();
    for (size_t row = 0; row < args->rows; row += EG__COLUMN_SUM_BLOCK) {
        const size_t end = eg__min(args->rows, row + EG__COLUMN_SUM_BLOCK);
        const float *x = args->x + row * stride + column;
        vf even[ABREAST], odd[ABREAST];
        UNROLL
        for (int v = 0; v < vectors; v++) even[v] = odd[v] = vf_zero();
        size_t r = row;
        for (; r + 2 <= end; r += 2, x += 2 * stride) {
            UNROLL
            for (int v = 0; v < vectors; v++) {
                even[v] = vf_add(even[v], LOAD(x + v * VF_N, v));
                odd[v] = vf_add(odd[v], LOAD(x + stride + v * VF_N, v));
            }
        }
        UNROLL
        for (int v = 0; v < vectors; v++) {
            if (r < end) even[v] = vf_add(even[v], LOAD(x + v * VF_N, v));
            total[v] = vf_add(total[v], vf_add(even[v], odd[v]));
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vf mean = args->mean ? vf_mul(total[v], scale) : total[v];
        float *y = args->y + column + v * VF_N;
        if (partial && v == vectors - 1) vf_store_part(y, mean, rest);
        else vf_store(y, mean);
    }
#undef LOAD
}

/* The remaining columns, less than a strip. */
#define LAST(vectors)                                   \
    case vectors:                                       \
        if (rest) strip(vectors, true, rest, args, at); \
        else strip(vectors, false, 0, args, at);        \
        break
static void last_strip(const eg__column_sum_f32_args *args, size_t at) {
    const size_t left = args->columns - at, rest = left % VF_N;
    switch (eg__ceil_div(left, VF_N)) {
        LAST(1);
        LAST(2);
        LAST(3);
        LAST(4);
    default: break;
    }
}
#undef LAST

void SIMD(eg__column_sum_f32)(const eg__column_sum_f32_args *args) {
    size_t column = 0;
    for (; column + ABREAST * VF_N <= args->columns; column += ABREAST * VF_N)
        strip(ABREAST, false, 0, args, column);
    last_strip(args, column);
}
