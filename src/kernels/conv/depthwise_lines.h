/* The lines that depthwise kernels of any vector width read; included after a simd header. */
#include "kernels/kernels.h"
#include "kernels/rows/unroll.h"

/* `width` is rounded up to whole vectors, or there is room for more. */
INLINE void zeros(size_t from, size_t width, float *to) {
    if (from % VF_N && from + VF_N <= width) {
        vf_store(to + from, vf_zero());
        from = eg__round_up(from, VF_N);
    }
    for (; from % VF_N && from < width; from++) to[from] = 0;
    for (; from < width; from += VF_N) vf_store(to + from, vf_zero());
}

/* One phase of a line: elements of x, zeros around and between them. */
INLINE void line_phase(const eg__conv_span *s, const float *x, size_t width, float *to) {
    if (s->step > 1 || s->from_step > 1 || !s->count) {
        zeros(0, width, to);
        for (size_t i = 0; i < s->count; i++)
            to[s->skip + i * s->step] = x[s->from + i * s->from_step];
        return;
    }
    size_t i = 0;
    zeros(0, s->skip, to); /* whole vectors: the excess is overwritten later */
    x += s->from;
    for (to += s->skip; i + VF_N <= s->count; i += VF_N) vf_store(to + i, vf_load(x + i));
    if (i < s->count) vf_store_part(to + i, vf_load_part(x + i, s->count - i), s->count - i);
    zeros(s->skip + s->count, width, to - s->skip);
}

/* The lines that `rows` rows of the result from `row` on need. */
static void lines_fill(const eg__conv_shape *s, const eg__depthwise_lines *l, size_t row,
                       size_t rows, const float *x, float *to) {
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    const size_t count = l->lines - (l->rows - rows) * h->stride;
    for (size_t phase = 0; phase < l->phases; phase++, to += l->width) {
        const eg__conv_span span = eg__conv_span_of(w, phase, 0, l->width);
        float *line = to;
        for (size_t i = 0, from; i < count; i++, line += l->stride) {
            if (eg__conv_meets(h, row, i, &from))
                line_phase(&span, x + from * w->in, l->width, line);
            else zeros(0, l->width, line);
        }
    }
}

/* The offsets of the taps; the lines follow. */
INLINE float *taps_find(const eg__conv_shape *s, const eg__depthwise_lines *l, int32_t *at) {
    const size_t taps = eg__conv_taps(s);
    for (size_t t = 0; t < taps; t++) at[t] = (int32_t)eg__depthwise_at(s, l, t);
    return (float *)at + eg__round_up(taps, EG__PANEL);
}
