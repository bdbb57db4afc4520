/* softmax_f32 for any vector width: included by softmax_f32_<isa>.c after its simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/vmath.h"

/* The largest value of a row; a NaN may or may not show, but it reaches the sum of exponentials. */
INLINE vf row_max(size_t n, const float *x) {
    vf part[LOCKSTEP];
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++) part[s] = vf_set(-INFINITY);
    size_t i = 0;
    for (; i + LOCKSTEP * VF_N <= n; i += LOCKSTEP * VF_N) {
        UNROLL
        for (int s = 0; s < LOCKSTEP; s++) part[s] = vf_max(part[s], vf_load(x + i + s * VF_N));
    }
    for (; i + VF_N <= n; i += VF_N) part[0] = vf_max(part[0], vf_load(x + i));
    if (i < n)
        part[1] =
            vf_max(part[1], vf_fill_rest(vf_load_part(x + i, n - i), n - i, vf_set(-INFINITY)));
    return vf_set(vf_largest(vf_max(vf_max(part[0], part[1]), vf_max(part[2], part[3]))));
}

/* Sum of exp(x - max); with y, the terms are stored there. */
INLINE float row_exp(size_t n, const float *x, vf max, float *y) {
    vf sum[LOCKSTEP], e[LOCKSTEP];
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++) sum[s] = vf_zero();
    size_t i = 0;
    for (; i + LOCKSTEP * VF_N <= n; i += LOCKSTEP * VF_N) {
        UNROLL
        for (int s = 0; s < LOCKSTEP; s++) e[s] = vf_sub(vf_load(x + i + s * VF_N), max);
        vf_exp_n(LOCKSTEP, e);
        UNROLL
        for (int s = 0; s < LOCKSTEP; s++) sum[s] = vf_add(sum[s], e[s]);
        if (y) {
            UNROLL
            for (int s = 0; s < LOCKSTEP; s++) vf_store(y + i + s * VF_N, e[s]);
        }
    }
    for (; i + VF_N <= n; i += VF_N) {
        e[0] = vf_exp(vf_sub(vf_load(x + i), max));
        sum[0] = vf_add(sum[0], e[0]);
        if (y) vf_store(y + i, e[0]);
    }
    if (i < n) {
        e[0] = vf_fill_rest(vf_exp(vf_sub(vf_load_part(x + i, n - i), max)), n - i, vf_zero());
        sum[1] = vf_add(sum[1], e[0]);
        if (y) vf_store_part(y + i, e[0], n - i);
    }
    return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

/* A row that fits into registers: no intermediate values in memory. */
INLINE void row_short(size_t n, const float *x, float *y) {
    vf e[LOCKSTEP];
    size_t left[LOCKSTEP];
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++) {
        left[s] = n <= (size_t)s * VF_N ? 0 : eg__min(n - (size_t)s * VF_N, VF_N);
        if (left[s] == VF_N) e[s] = vf_load(x + s * VF_N);
        else e[s] = vf_fill_rest(vf_load_part(x + s * VF_N, left[s]), left[s], vf_set(-INFINITY));
    }
    const vf max = vf_set(vf_largest(vf_max(vf_max(e[0], e[1]), vf_max(e[2], e[3]))));
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++) e[s] = vf_sub(e[s], max);
    vf_exp_n(LOCKSTEP, e);
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++)
        if (left[s] < VF_N) e[s] = vf_fill_rest(e[s], left[s], vf_zero());
    const vf sum = vf_set(vf_sum(vf_add(vf_add(e[0], e[1]), vf_add(e[2], e[3]))));
    const vf scale = vf_div(vf_set(1.0f), sum);
    UNROLL
    for (int s = 0; s < LOCKSTEP; s++) {
        if (left[s] == VF_N) vf_store(y + s * VF_N, vf_mul(e[s], scale));
        else vf_store_part(y + s * VF_N, vf_mul(e[s], scale), left[s]);
    }
}

void SIMD(eg__softmax_f32)(const eg__softmax_f32_args *args) {
    const size_t n = args->columns;
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = args->x + r * args->x_stride;
        float *y = args->y + r * args->y_stride;
        if (n <= LOCKSTEP * VF_N && !args->logarithm) {
            row_short(n, x, y);
            continue;
        }
        const vf max = row_max(n, x);
        size_t i = 0;
        if (args->logarithm) {
            const vf log_sum = vf_log(vf_set(row_exp(n, x, max, NULL)));
#define SHIFT(v) vf_sub(vf_sub(v, max), log_sum)
            for (; i + VF_N <= n; i += VF_N) vf_store(y + i, SHIFT(vf_load(x + i)));
            if (i < n) vf_store_part(y + i, SHIFT(vf_load_part(x + i, n - i)), n - i);
#undef SHIFT
        } else {
            const vf scale = vf_div(vf_set(1.0f), vf_set(row_exp(n, x, max, y)));
            for (; i + VF_N <= n; i += VF_N) vf_store(y + i, vf_mul(vf_load(y + i), scale));
            if (i < n) vf_store_part(y + i, vf_mul(vf_load_part(y + i, n - i), scale), n - i);
        }
    }
}
