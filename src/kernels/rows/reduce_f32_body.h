/* reduce_f32 for any vector width: included by reduce_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

#include <math.h>

/* An addition takes three to four cycles and two start per cycle: four sums keep them coming. */
enum { SUMS = 4 };

#define COMBINE_ROW(NAME, COMBINE, LANES, START)                                                  \
    static float NAME(size_t n, const float *x) {                                                 \
        vf part[SUMS];                                                                            \
        UNROLL                                                                                    \
        for (int s = 0; s < SUMS; s++) part[s] = vf_set(START);                                   \
        size_t i = 0;                                                                             \
        for (; i + SUMS * VF_N <= n; i += SUMS * VF_N) {                                          \
            UNROLL                                                                                \
            for (int s = 0; s < SUMS; s++) part[s] = COMBINE(part[s], vf_load(x + i + s * VF_N)); \
        }                                                                                         \
        for (; i + VF_N <= n; i += VF_N) part[0] = COMBINE(part[0], vf_load(x + i));              \
        if (i < n)                                                                                \
            part[0] =                                                                             \
                COMBINE(part[0], vf_fill_rest(vf_load_part(x + i, n - i), n - i, vf_set(START))); \
        return LANES(COMBINE(COMBINE(part[0], part[1]), COMBINE(part[2], part[3])));              \
    }
COMBINE_ROW(row_sum, vf_add, vf_sum, 0.0f)
COMBINE_ROW(row_max, vf_max, vf_largest, -INFINITY)
COMBINE_ROW(row_min, vf_min, vf_smallest, INFINITY)

/* max and min may lose a NaN on the way; a sum never does. */
static bool row_has_nan(size_t n, const float *x) {
    vf zeros = vf_zero();
    size_t i = 0;
    for (; i + VF_N <= n; i += VF_N) {
        vf v = vf_load(x + i);
        zeros = vf_or(zeros, vf_select(vf_ne(v, v), vf_set(1.0f), vf_zero()));
    }
    bool found = vm_any(vf_ne(zeros, vf_zero()));
    for (; i < n; i++) found |= x[i] != x[i];
    return found;
}

/* The extreme first, then its place: two quick passes beat one that drags indices along. */
static int32_t row_argmax(size_t n, const float *x) {
    if (!n) return -1;
    bool nan = row_has_nan(n, x);
    float best = nan ? 0 : row_max(n, x);
    for (size_t i = 0; i < n; i++)
        if (nan ? x[i] != x[i] : x[i] == best) return (int32_t)i;
    return 0;
}

static float row_reduce(eg__reduction reduction, size_t n, const float *x) {
    switch (reduction) {
    case EG__REDUCE_SUM: return row_sum(n, x);
    case EG__REDUCE_MEAN: return row_sum(n, x) / (float)n;
    case EG__REDUCE_MAX: return row_has_nan(n, x) ? NAN : row_max(n, x);
    case EG__REDUCE_MIN: return row_has_nan(n, x) ? NAN : row_min(n, x);
    default: return NAN;
    }
}

void SIMD(eg__reduce_f32)(const eg__reduce_f32_args *args) {
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        if (args->reduction == EG__REDUCE_ARGMAX) args->index[r] = row_argmax(args->columns, x);
        else args->y[r] = row_reduce(args->reduction, args->columns, x);
    }
}
