/* The definition of depthwise_dw_f32: sums of a plane in double. */
#include "kernels/kernels.h"

void eg__depthwise_dw_f32_ref(const eg__depthwise_dw_f32_args *d) {
    const eg__conv_shape *s = d->shape;
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    for (size_t t = 0; t < eg__conv_taps(s); t++) {
        double sum = d->dw[t];
        for (size_t p = 0; p < eg__conv_positions(s); p++) {
            size_t row, column;
            if (eg__conv_meets(h, p / w->out, eg__conv_offset(s, 0, t / w->taps), &row) &&
                eg__conv_meets(w, p % w->out, eg__conv_offset(s, 1, t % w->taps), &column))
                sum += (double)d->dy[p] * d->x[row * w->in + column];
        }
        d->dw[t] = (float)sum;
    }
}
