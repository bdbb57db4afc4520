/* depthwise_f32 for any vector width: included by depthwise_f32_<isa>.c after its simd header and
 * ROWS, the most rows of a tile.
 *
 * A tile is ROWS x VECTORS results held in registers while the taps go by. Where neither rows nor
 * taps skip lines, a loaded vector serves all rows that read it: most loads straddle two cache
 * lines and would be the bottleneck. */
#include "kernels/conv/depthwise_lines.h"

enum { TILE = 4 }; /* vectors: an FMA takes four cycles */

/* What is the same for all tiles of a plane. */
typedef struct walk {
    size_t height, width;  /* of the filter */
    const int32_t *across; /* where its columns lie */
    size_t tap_stride;     /* from the line of a row of taps to that of the next */
    size_t row_stride;     /* the same, of results */
    size_t y_stride;
    bool flipped;
    const float *w;
} walk;

/* rows and vectors are constants wherever this is inlined; `left` is the number of columns to
 * store. With more than one row, rows and taps go from line to line. */
INLINE void tile(const int rows, const int vectors, const walk *p, const float *x, float *y,
                 size_t left) {
    vf sum[ROWS][TILE];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int v = 0; v < vectors; v++) sum[r][v] = vf_zero();
    }
    for (size_t i = 0; i < p->height + (size_t)rows - 1; i++, x += p->tap_stride)
        for (size_t k = 0; k < p->width; k++) {
            vf value[TILE];
            UNROLL
            for (int v = 0; v < vectors; v++) value[v] = vf_load(x + p->across[k] + v * VF_N);
            UNROLL
            for (int r = 0; r < rows; r++) {
                const size_t tap = i - (size_t)r; /* a negative value wraps to a large one */
                if (tap >= p->height) continue;
                const size_t at = p->flipped ? p->height - 1 - tap : tap;
                const vf factor = vf_broadcast(p->w + at * p->width + k);
                UNROLL
                for (int v = 0; v < vectors; v++) sum[r][v] = vf_fma(factor, value[v], sum[r][v]);
            }
        }
    const size_t rest = left - (size_t)(vectors - 1) * VF_N;
    UNROLL
    for (int r = 0; r < rows; r++, y += p->y_stride) {
        UNROLL
        for (int v = 0; v < vectors - 1; v++) vf_store(y + v * VF_N, sum[r][v]);
        if (rest >= VF_N) vf_store(y + (vectors - 1) * VF_N, sum[r][vectors - 1]);
        else vf_store_part(y + (vectors - 1) * VF_N, sum[r][vectors - 1], rest);
    }
}

INLINE void tiles(const int rows, const walk *p, const float *x, float *y) {
    for (size_t i = 0; i < p->y_stride; i += TILE * VF_N) {
        const size_t left = p->y_stride - i;
        switch (eg__min(TILE, eg__ceil_div(left, VF_N))) {
        case 1: tile(rows, 1, p, x + i, y + i, left); break;
        case 2: tile(rows, 2, p, x + i, y + i, left); break;
        case 3: tile(rows, 3, p, x + i, y + i, left); break;
        default: tile(rows, 4, p, x + i, y + i, left); break;
        }
    }
}

void SIMD(eg__depthwise_f32)(const eg__depthwise_f32_args *d) {
    const eg__conv_shape *s = d->shape;
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    const eg__depthwise_lines l = eg__depthwise_lines_of(s);
    int32_t *at = (int32_t *)d->scratch;
    float *lines = taps_find(s, &l, at);
    const int32_t down = (int32_t)(eg__conv_offset(s, 0, 0) * l.stride);
    for (size_t k = 0; k < w->taps; k++) at[k] -= down; /* within a line */
    const walk p = {h->taps, w->taps,    at,  h->dilation * l.stride, h->stride * l.stride,
                    w->out,  s->flipped, d->w};
    const bool shares = h->stride == 1 && h->dilation == 1;
    for (size_t first = 0; first < h->out; first += l.rows) {
        const size_t rows = eg__min(l.rows, h->out - first);
        float *y = d->y + first * w->out;
        size_t r = 0;
        lines_fill(s, &l, first, rows, d->x, lines);
        for (; shares && r + ROWS <= rows; r += ROWS)
            tiles(ROWS, &p, lines + r * p.row_stride, y + r * w->out);
        for (; r < rows; r++) tiles(1, &p, lines + r * p.row_stride, y + r * w->out);
    }
}
