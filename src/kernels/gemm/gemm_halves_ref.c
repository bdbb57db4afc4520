/* The definition of gemm_f16f16 and gemm_bf16bf16: sums in double, one rounding per element. */
#include "kernels/kernels.h"

static void product(const eg__gemm_halves_args *g, eg__f16_to_f32_function *widen) {
    const size_t pairs = eg__gemm_pairs(g->k);
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            const uint16_t *panel = g->b + 2 * (j / EG__PANEL * EG__PANEL * pairs + j % EG__PANEL);
            float *c = &g->c[i * g->c_stride + j];
            double sum = g->accumulate ? *c : g->add ? g->add[i * g->add_stride + j] : 0;
            for (size_t k = 0; k < g->k; k++) {
                float a, b;
                widen(1, &g->a[i * g->a_stride + k], &a);
                widen(1, &panel[k / 2 * EG__PANEL * 2 + k % 2], &b);
                sum += (double)a * b;
            }
            *c = (float)sum;
        }
    if (g->epilogue && g->m && g->n)
        g->epilogue->apply(g->epilogue->user, g->c, g->c_stride, 0, g->m, 0, g->n);
}

void eg__gemm_f16f16_ref(const eg__gemm_halves_args *g) { product(g, eg__f16_to_f32_ref); }
void eg__gemm_bf16bf16_ref(const eg__gemm_halves_args *g) { product(g, eg__bf16_to_f32_ref); }
