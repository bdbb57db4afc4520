/* What the gradient kernels of attention share. Included after a simd header. */
#include "kernels/attention/attention_block.h"

/* Per row: its log-sum-exp, and delta = the sum of d y minus the gradient of the log-sum-exp
 * itself. Unused rows get weights of 0. */
static void rows_sums(const eg__attention_f32_args *a, const block *b, float *lse, float *delta) {
    for (size_t r = 0; r < ROWS; r++) {
        lse[r] = EG__ATTENTION_BLIND;
        delta[r] = 0;
        if (r >= b->rows) continue;
        const float *y = block_row(a, b, r, a->y, a->y_stride, a->dv);
        const float *dy = block_row(a, b, r, a->dy, a->dy_stride, a->dv);
        vf sum = vf_zero();
        size_t c = 0;
        for (; c + VF_N <= a->dv; c += VF_N) sum = vf_fma(vf_load(y + c), vf_load(dy + c), sum);
        if (c < a->dv)
            sum = vf_fma(vf_load_part(y + c, a->dv - c), vf_load_part(dy + c, a->dv - c), sum);
        lse[r] = *(block_row(a, b, r, a->y, a->y_stride, 1) + a->heads * a->dv);
        delta[r] = vf_sum(sum) - *(block_row(a, b, r, a->dy, a->dy_stride, 1) + a->heads * a->dv);
    }
}
