/* The definition of gemm_tn_f32: sums in double, one rounding per element. */
#include "kernels/kernels.h"

void eg__gemm_tn_f32_ref(const eg__gemm_tn_f32_args *g) {
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            double sum = g->add ? g->c[i * g->c_stride + j] : 0;
            for (size_t k = 0; k < g->k; k++)
                sum += (double)g->a[k * g->a_stride + i] * g->b[k * g->b_stride + j];
            g->c[i * g->c_stride + j] = (float)sum;
        }
}
