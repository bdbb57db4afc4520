/* The definition of unfold_f32. */
#include "kernels/kernels.h"

void eg__unfold_f32_ref(const eg__unfold_f32_args *u) {
    const eg__conv_shape *s = u->shape;
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    const size_t taps = eg__conv_taps(s), width = w->out;
    for (size_t j = 0; j < eg__round_up(u->count, EG__PANEL); j++)
        for (size_t r = 0; r < u->channels * taps; r++) {
            const size_t c = r / taps, t = r % taps, p = u->first + j;
            float value = 0;
            size_t row, column;
            if (j < u->count &&
                eg__conv_meets(h, p / width, eg__conv_offset(s, 0, t / w->taps), &row) &&
                eg__conv_meets(w, p % width, eg__conv_offset(s, 1, t % w->taps), &column))
                value = u->x[(c * h->in + row) * w->in + column];
            u->to[j / EG__PANEL * u->chunk_stride + r * u->row_stride + j % EG__PANEL] = value;
        }
}
