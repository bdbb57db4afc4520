/* The definition of gemv_f32: sums in double, one rounding per element. */
#include "kernels/kernels.h"

void eg__gemv_f32_ref(const eg__gemv_f32_args *g) {
    for (size_t j = 0; j < g->n; j++) {
        const float *panel = g->b + j / EG__PANEL * EG__PANEL * g->k + j % EG__PANEL;
        double sum = g->add ? g->add[j] : 0;
        for (size_t k = 0; k < g->k; k++) sum += (double)g->x[k] * panel[k * EG__PANEL];
        g->y[j] = (float)sum;
    }
}
