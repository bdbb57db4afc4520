/* The sizes of a convolution, found from the shapes of its inputs and its attributes, and checked. */
#include "graph/ops/conv.h"

enum { SMALL = 20, HALF = 32 }; /* bits */

/* ---- attributes */
static bool fits(int64_t value) { return value >= 1 && value < (int64_t)1 << SMALL; }
static bool is_half(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }
static int64_t low(int64_t x) { return (int32_t)(uint32_t)((uint64_t)x & UINT32_MAX); }
static int64_t high(int64_t x) { return (int32_t)(uint32_t)((uint64_t)x >> HALF); }

bool eg__conv_fits(const eg__conv_attributes *n) {
    for (int a = 0; a < 2; a++)
        if (!fits(n->stride[a]) || !fits(n->dilation[a]) || !fits(n->spread[a]) ||
            !is_half(n->before[a]) || !is_half(n->after[a]) || !is_half(n->taps[a]))
            return false;
    return true;
}

/* index[0] = 2*groups + flipped; per axis index[1], [2] = stride, dilation and spread in 20 bits each, index[3], [4] =
 * padding before and after in 32 bits each, with a sign; index[5] = the taps of both axes. */
void eg__conv_from_index(const int64_t index[EG_RANK_MAX], eg__attributes *to) {
    const int64_t mask = ((int64_t)1 << SMALL) - 1;
    eg__conv_attributes *out = &to->conv;
    *out = (eg__conv_attributes){.groups = index[0] / 2, .flipped = index[0] & 1};
    for (int a = 0; a < 2; a++) {
        out->stride[a] = index[1 + a] & mask;
        out->dilation[a] = index[1 + a] >> SMALL & mask;
        out->spread[a] = index[1 + a] >> (2 * SMALL) & mask;
        out->before[a] = low(index[3 + a]);
        out->after[a] = high(index[3 + a]);
    }
    out->taps[0] = low(index[5]);
    out->taps[1] = high(index[5]);
}

/* ---- shapes */

/* Height and width; the height of a sequence is 1. */
static bool extents(const eg__node *x, int64_t out[2]) {
    out[0] = 1;
    for (unsigned i = 2; i < x->rank; i++) {
        if (x->shape[i] < 1 || x->shape[i] > INT32_MAX) return false;
        out[i - 2 + (x->rank == 3)] = (int64_t)x->shape[i];
    }
    return true;
}

/* Extent of the result; 0 = the filter is longer than the padded x, or a size overflows. */
static int64_t results(const eg__conv_attributes *n, int axis, int64_t in, int64_t taps) {
    const int64_t all = (in - 1) * n->spread[axis] + 1 + n->before[axis] + n->after[axis];
    const int64_t left = all - (taps - 1) * n->dilation[axis] - 1;
    return left < 0 || all > INT32_MAX ? 0 : left / n->stride[axis] + 1;
}

static eg_status check_numbers(const eg__conv_attributes *n, bool sequence, eg_error *error) {
    if (!eg__conv_fits(n))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "stride %lld %lld, dilation %lld %lld or spread %lld %lld is "
                        "out of range",
                        (long long)n->stride[0], (long long)n->stride[1], (long long)n->dilation[0],
                        (long long)n->dilation[1], (long long)n->spread[0],
                        (long long)n->spread[1]);
    if (sequence && (n->stride[0] > 1 || n->dilation[0] > 1 || n->spread[0] > 1 || n->before[0] ||
                     n->after[0] || n->taps[0] > 1))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a sequence has no height to stride over or to pad");
    if (n->groups < 1)
        return eg__fail(error, EG_ERR_ARGUMENT, "%lld groups, needs at least 1",
                        (long long)n->groups);
    return EG_OK;
}

static eg_status set_axes(const eg__conv_attributes *n, const int64_t in[2], const int64_t taps[2],
                          eg__conv_shape *out) {
    for (int a = 0; a < 2; a++) {
        const int64_t count = results(n, a, in[a], taps[a]);
        if (count < 1) return EG_ERR_ARGUMENT;
        out->axis[a] = (eg__conv_axis){.in = (size_t)in[a],
                                       .out = (size_t)count,
                                       .taps = (size_t)taps[a],
                                       .stride = (size_t)n->stride[a],
                                       .dilation = (size_t)n->dilation[a],
                                       .spread = (size_t)n->spread[a],
                                       .before = (ptrdiff_t)n->before[a]};
    }
    out->flipped = n->flipped;
    return EG_OK;
}

static eg_status describe(const eg__node *x, const eg__node *w, const eg__conv_attributes *n,
                          const char *what, eg_error *error) {
    char a[160], b[160];
    return eg__fail(error, EG_ERR_ARGUMENT,
                    "%s does not fit %s %s (groups %lld, stride %lld %lld, dilation "
                    "%lld %lld, padding %lld %lld, %lld %lld)",
                    eg__shape_text(x, a), what, eg__shape_text(w, b), (long long)n->groups,
                    (long long)n->stride[0], (long long)n->stride[1], (long long)n->dilation[0],
                    (long long)n->dilation[1], (long long)n->before[0], (long long)n->after[0],
                    (long long)n->before[1], (long long)n->after[1]);
}

/* Depthwise kernels index lines with 32 bits. */
static eg_status check_lines(const eg__conv_shape *s, eg_error *error) {
    if (!eg__conv_is_depthwise(s)) return EG_OK;
    const double area =
        ((double)s->axis[0].taps * (double)s->axis[0].dilation + 1) *
        ((double)s->axis[1].out * (double)s->axis[1].stride +
         (double)s->axis[1].taps * (double)s->axis[1].dilation + 64 * (double)s->axis[1].stride);
    if (area < INT32_MAX) return EG_OK;
    return eg__fail(error, EG_ERR_OVERFLOW, "the filter spans %g elements, more than 2^31", area);
}

eg_status eg__conv_shape_of(const eg_graph *graph, const eg__node *node, eg__conv_shape *out,
                            eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *w = eg__node_at(graph, eg__node_input(graph, node, 1)); /* or dy */
    const bool back = node->op == EG__GRAPH_conv_dw;
    const char *what = back ? "a gradient" : "filters";
    const eg__conv_attributes n = node->attributes.conv;
    int64_t in[2], taps[2];
    *out = (eg__conv_shape){.groups = (size_t)n.groups};
    if (x->type != EG_F32 || w->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s' and '%s'",
                        eg_type_name(x->type), eg_type_name(w->type));
    if ((x->rank != 3 && x->rank != 4) || w->rank != x->rank || !extents(x, in) ||
        !extents(w, taps))
        return describe(x, w, &n, what, error);
    eg_status status = check_numbers(&n, x->rank == 3, error);
    if (status) return status;
    if (back) taps[0] = n.taps[0], taps[1] = n.taps[1];
    const uint64_t groups = (uint64_t)n.groups, filters = w->shape[back];
    if (taps[0] < 1 || taps[1] < 1 || !x->shape[1] || !filters || x->shape[1] % groups ||
        filters % groups ||
        (back ? w->shape[0] != x->shape[0] : w->shape[1] != x->shape[1] / groups) ||
        set_axes(&n, in, taps, out))
        return describe(x, w, &n, what, error);
    out->channels = (size_t)x->shape[1];
    out->filters = (size_t)filters;
    if (back && (w->shape[w->rank - 1] != out->axis[1].out ||
                 (w->rank == 4 && w->shape[2] != out->axis[0].out)))
        return describe(x, w, &n, what, error);
    return check_lines(out, error);
}
