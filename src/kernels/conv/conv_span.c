/* Which results of a convolution read an element inside x, and the layout of the lines of a
 * depthwise one. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

/* The first result from `first` on whose element is not before x, and how many follow before the
 * end of x. */
static eg__conv_span within(const eg__conv_axis *a, int64_t at, size_t count) {
    const int64_t last = (int64_t)(a->in - 1) * (int64_t)a->spread, stride = (int64_t)a->stride;
    const size_t skip = at < 0 ? (size_t)((-at + stride - 1) / stride) : 0;
    const int64_t begin = at + (int64_t)skip * stride;
    if (skip >= count || begin > last) return (eg__conv_span){0, 0, 1, 0, 0};
    const size_t most = (size_t)((last - begin) / stride) + 1;
    return (eg__conv_span){skip, eg__min(most, count - skip), 1, (size_t)begin, a->stride};
}

eg__conv_span eg__conv_span_of(const eg__conv_axis *a, size_t offset, size_t first, size_t count) {
    const int64_t at = (int64_t)(first * a->stride) - (int64_t)a->before + (int64_t)offset;
    eg__conv_span s = within(a, at, count);
    if (a->spread == 1 || !s.count) return s;
    const size_t all = s.count; /* some of these read zeros between the elements */
    size_t i = 0;
    while (i < all && i < a->spread && (s.from + i * a->stride) % a->spread) i++;
    while (s.step * a->stride % a->spread) s.step++;
    if (i == all || (s.from + i * a->stride) % a->spread) return (eg__conv_span){0, 0, 1, 0, 0};
    s.skip += i;
    s.count = (all - i - 1) / s.step + 1;
    s.from = (s.from + i * a->stride) / a->spread;
    s.from_step = s.step * a->stride / a->spread;
    return s;
}

/* ---- lines of a depthwise convolution */
eg__depthwise_lines eg__depthwise_lines_of(const eg__conv_shape *s) {
    enum { FLOATS = 6144 }; /* lines and results together fit into an L1 of 32 KB */
    const eg__conv_axis *h = &s->axis[0], *w = &s->axis[1];
    const size_t reach = (w->taps - 1) * w->dilation;
    eg__depthwise_lines l = {.phases = eg__min(w->stride, reach + 1)};
    l.width = eg__round_up(w->out, EG__PANEL) + eg__round_up(reach / w->stride, EG__PANEL);
    l.stride = l.phases * l.width;
    const size_t least = (h->taps - 1) * h->dilation + 1, fit = FLOATS / l.stride;
    l.rows = fit > least ? eg__min((fit - least) / h->stride + 1, h->out) : 1;
    l.lines = (l.rows - 1) * h->stride + least;
    return l;
}

/* The offsets of the taps are stored before the lines, as integers of the size of floats. */
size_t eg__depthwise_scratch(const eg__conv_shape *s) {
    const eg__depthwise_lines l = eg__depthwise_lines_of(s);
    return eg__round_up(eg__conv_taps(s), EG__PANEL) + l.lines * l.stride;
}

size_t eg__depthwise_at(const eg__conv_shape *s, const eg__depthwise_lines *l, size_t t) {
    const eg__conv_axis *w = &s->axis[1];
    const size_t down = eg__conv_offset(s, 0, t / w->taps);
    const size_t right = eg__conv_offset(s, 1, t % w->taps);
    return down * l->stride + right % w->stride * l->width + right / w->stride;
}
