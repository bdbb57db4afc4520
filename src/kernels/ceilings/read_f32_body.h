/* read_f32 for any vector width: included by read_f32_<isa>.c after its simd header. Eight sums: an
 * addition takes three to four cycles and two loads come per cycle. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

float SIMD(eg__read_f32)(size_t n, const float *x) {
    enum { SUMS = 8 };
    vf sum[SUMS];
    UNROLL
    for (int s = 0; s < SUMS; s++) sum[s] = vf_zero();
    for (size_t i = 0; i < n; i += SUMS * VF_N) {
        UNROLL
        for (int s = 0; s < SUMS; s++) sum[s] = vf_add(sum[s], vf_load(x + i + s * VF_N));
    }
    UNROLL
    for (int s = 1; s < SUMS; s++) sum[0] = vf_add(sum[0], sum[s]);
    return vf_sum(sum[0]);
}
