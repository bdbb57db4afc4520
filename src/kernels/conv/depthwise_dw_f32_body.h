/* depthwise_dw_f32 for any vector width: included by depthwise_dw_f32_<isa>.c after its simd header. */
#include "kernels/conv/depthwise_lines.h"

enum { TAPS = 8 }; /* sums at once, for which dy is read once */

/* A row of dy with `taps` (a constant wherever this is inlined) of the taps. */
INLINE void row(const int taps, size_t width, const float *dy, const float *x, const int32_t *at,
                vf *sum) {
    size_t i = 0;
    for (; i + VF_N <= width; i += VF_N) {
        const vf d = vf_load(dy + i);
        UNROLL
        for (int t = 0; t < taps; t++) sum[t] = vf_fma(d, vf_load(x + at[t] + i), sum[t]);
    }
    if (i == width) return;
    /* masked lanes must be zero in x, too: 0 * infinity is NaN */
    const vf d = vf_load_part(dy + i, width - i);
    UNROLL
    for (int t = 0; t < taps; t++)
        sum[t] = vf_fma(d, vf_load_part(x + at[t] + i, width - i), sum[t]);
}

INLINE void rows_add(const int taps, const eg__conv_shape *s, const eg__depthwise_lines *l,
                     size_t rows, const float *dy, const float *lines, const int32_t *at,
                     float *dw) {
    const size_t width = s->axis[1].out, down = s->axis[0].stride * l->stride;
    vf sum[TAPS];
    UNROLL
    for (int t = 0; t < taps; t++) sum[t] = vf_zero();
    for (size_t r = 0; r < rows; r++) row(taps, width, dy + r * width, lines + r * down, at, sum);
    UNROLL
    for (int t = 0; t < taps; t++) dw[t] += vf_sum(sum[t]);
}

static void some(size_t taps, const eg__conv_shape *s, const eg__depthwise_lines *l, size_t rows,
                 const float *dy, const float *lines, const int32_t *at, float *dw) {
    switch (taps) {
    case 1: rows_add(1, s, l, rows, dy, lines, at, dw); break;
    case 2: rows_add(2, s, l, rows, dy, lines, at, dw); break;
    case 3: rows_add(3, s, l, rows, dy, lines, at, dw); break;
    case 4: rows_add(4, s, l, rows, dy, lines, at, dw); break;
    case 5: rows_add(5, s, l, rows, dy, lines, at, dw); break;
    case 6: rows_add(6, s, l, rows, dy, lines, at, dw); break;
    case 7: rows_add(7, s, l, rows, dy, lines, at, dw); break;
    default: rows_add(8, s, l, rows, dy, lines, at, dw); break;
    }
}

void SIMD(eg__depthwise_dw_f32)(const eg__depthwise_dw_f32_args *d) {
    const eg__conv_shape *s = d->shape;
    const eg__depthwise_lines l = eg__depthwise_lines_of(s);
    const size_t width = s->axis[1].out, height = s->axis[0].out, taps = eg__conv_taps(s);
    const size_t parts = eg__ceil_div(taps, TAPS);
    int32_t *at = (int32_t *)d->scratch;
    float *lines = taps_find(s, &l, at);
    for (size_t first = 0; first < height; first += l.rows) {
        const size_t rows = eg__min(l.rows, height - first);
        lines_fill(s, &l, first, rows, d->x, lines);
        for (size_t part = 0, t = 0, n; part < parts; part++, t += n) {
            n = taps / parts + (part < taps % parts);
            some(n, s, &l, rows, d->dy + first * width, lines, at + t, d->dw + t);
        }
    }
}
