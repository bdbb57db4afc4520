/* layernorm_f32 and rmsnorm_f32 for any vector width: included by <norm>_f32_<isa>.c after its simd
 * header and NORM_NAME, the name of the kernel, and CENTERED, 1 for layer norm. The row stays in the
 * first cache, so that two exact passes cost less than the cancellation of one. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

enum { SUMS = 4 };

#define ROW_SUM(NAME, TERM)                                                    \
    INLINE float NAME(size_t n, const float *x, vf mean) {                     \
        (void)mean;                                                            \
        vf sum[SUMS];                                                          \
        UNROLL                                                                 \
        for (int s = 0; s < SUMS; s++) sum[s] = vf_zero();                     \
        size_t i = 0;                                                          \
        for (; i + SUMS * VF_N <= n; i += SUMS * VF_N) {                       \
            UNROLL                                                             \
            for (int s = 0; s < SUMS; s++) {                                   \
                vf v = vf_load(x + i + s * VF_N);                              \
                sum[s] = TERM(v, sum[s]);                                      \
            }                                                                  \
        }                                                                      \
        for (; i + VF_N <= n; i += VF_N) {                                     \
            vf v = vf_load(x + i);                                             \
            sum[0] = TERM(v, sum[0]);                                          \
        }                                                                      \
        if (i < n) {                                                           \
            vf v = vf_fill_rest(vf_load_part(x + i, n - i), n - i, mean);      \
            sum[1] = TERM(v, sum[1]);                                          \
        }                                                                      \
        return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]))); \
    }
#define VALUE(v, sum)  vf_add(sum, v)
#define SQUARE(v, sum) vf_fma(vf_sub(v, mean), vf_sub(v, mean), sum)
#if CENTERED
ROW_SUM(row_sum, VALUE)
#endif
ROW_SUM(row_squares, SQUARE)

/* gained and biased are constants wherever this is inlined: no test inside the loop. */
INLINE void row_write(const bool gained, const bool biased, const eg__norm_f32_args *args,
                      const float *x, float *y, vf mean, vf scale, const float *next) {
    const size_t n = args->columns;
    size_t i = 0;
    for (; i + VF_N <= n; i += VF_N) {
        __builtin_prefetch(next + i); /* prefetches the next row while this one is written */
        vf v = vf_mul(vf_sub(vf_load(x + i), mean), scale);
        if (gained && biased) v = vf_fma(v, vf_load(args->gain + i), vf_load(args->bias + i));
        else if (gained) v = vf_mul(v, vf_load(args->gain + i));
        else if (biased) v = vf_add(v, vf_load(args->bias + i));
        vf_store(y + i, v);
    }
    if (i == n) return;
    vf v = vf_mul(vf_sub(vf_load_part(x + i, n - i), mean), scale);
    if (gained) v = vf_mul(v, vf_load_part(args->gain + i, n - i));
    if (biased) v = vf_add(v, vf_load_part(args->bias + i, n - i));
    vf_store_part(y + i, v, n - i);
}

void NORM_NAME(const eg__norm_f32_args *args) {
    const float n = (float)args->columns;
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        const float *next = r + 1 < args->rows ? x + args->x_stride : x;
        float *y = args->y + r * args->y_stride;
        vf mean = vf_zero();
#if CENTERED
        mean = vf_set(row_sum(args->columns, x, mean) / n);
#endif
        vf variance = vf_set(row_squares(args->columns, x, mean) / n + args->epsilon);
        vf scale = vf_div(vf_set(1.0f), vf_sqrt(variance));
        if (args->gain && args->bias) row_write(true, true, args, x, y, mean, scale, next);
        else if (args->gain) row_write(true, false, args, x, y, mean, scale, next);
        else if (args->bias) row_write(false, true, args, x, y, mean, scale, next);
        else row_write(false, false, args, x, y, mean, scale, next);
    }
}
