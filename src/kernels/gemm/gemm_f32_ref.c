/* The definition of gemm_f32: sums in double, one rounding per element. */
#include "kernels/kernels.h"

void eg__gemm_f32_ref(const eg__gemm_f32_args *g) {
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            const float *panel = g->b + j / EG__PANEL * EG__PANEL * g->k + j % EG__PANEL;
            float *c = &g->c[i * g->c_stride + j];
            double sum = g->accumulate ? *c : g->add ? g->add[i * g->add_stride + j] : 0;
            for (size_t k = 0; k < g->k; k++)
                sum += (double)g->a[i * g->a_stride + k] * panel[k * EG__PANEL];
            *c = (float)sum;
        }
    if (g->epilogue && g->m && g->n)
        g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->n);
}
