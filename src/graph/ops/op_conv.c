/* conv, and conv_dw, its gradient with respect to the filters (see conv.h). Inputs of conv: x and
 * the filters; of conv_dw: x and the gradient of the result. The gradient with respect to x is a
 * conv, too: of the result's gradient, dilated by the stride, with transposed filters. */
#include "base/abi.h"
#include "graph/ops/conv.h"
#include "graph/lower/lower.h"

static int64_t or_one(uint32_t x) { return x ? x : 1; }

eg_node eg_conv(eg_graph *graph, const eg_conv_options *options, eg_node x, eg_node w) {
    eg_conv_options kept, *const o = &kept;
    eg_error reason;
    if (!graph || !x.id || !w.id) return (eg_node){0};
    if (EG__OPTIONS(eg_conv_options, &kept, options, &reason))
        return eg__graph_mistake(graph, reason.status, "conv: %s", reason.message);
    const bool sequence = x.id <= graph->size && eg__node_at(graph, x)->rank == 3;
    const unsigned axes = sequence ? 1 : 2;
    eg__attributes attributes = {
        .conv = {
            .groups = or_one(o->groups), .stride = {1, 1}, .dilation = {1, 1}, .spread = {1, 1}}};
    eg__conv_attributes *n = &attributes.conv;
    for (unsigned i = 0; i < axes; i++) {
        const unsigned a = i + 2 - axes;
        n->stride[a] = or_one(o->stride[i]);
        n->dilation[a] = or_one(o->dilation[i]);
        n->before[a] = o->before[i];
        n->after[a] = o->after[i];
    }
    if (!eg__conv_fits(n))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                 "conv: stride %u %u, dilation %u %u or padding %u %u, %u %u is "
                                 "out of range",
                                 o->stride[0], o->stride[1], o->dilation[0], o->dilation[1],
                                 o->before[0], o->after[0], o->before[1], o->after[1]);
    return eg__graph_add2(graph, EG__GRAPH_conv, 0, x, w, &attributes);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    eg__conv_shape s;
    eg_status status = eg__conv_shape_of(graph, node, &s, error);
    if (status) return status;
    const bool back = node->op == EG__GRAPH_conv_dw;
    node->type = EG_F32;
    node->rank = x->rank;
    node->shape[0] = back ? s.filters : x->shape[0];
    node->shape[1] = back ? s.channels / s.groups : s.filters;
    if (x->rank == 4) node->shape[2] = back ? s.axis[0].taps : s.axis[0].out;
    node->shape[x->rank - 1] = back ? s.axis[1].taps : s.axis[1].out;
    return EG_OK;
}

/* Padding counts: its zeros are multiplied, too. */
static double flops(const eg_graph *graph, const eg__node *node) {
    eg__conv_shape s;
    eg_error error;
    if (eg__conv_shape_of(graph, node, &s, &error)) return 0;
    const uint64_t samples = eg__node_at(graph, eg__node_input(graph, node, 0))->shape[0];
    return 2.0 * (double)samples * (double)s.filters * (double)eg__conv_positions(&s) *
           (double)eg__conv_depth(&s);
}

/* [O, C/groups, ..] -> [C, O/groups, ..]. */
static eg_node turn_filters(eg_graph *g, eg_node w, uint64_t groups) {
    const eg__node n = *eg__node_at(g, w);
    uint64_t shape[EG_RANK_MAX] = {groups, n.shape[0] / groups, n.shape[1]};
    const unsigned order[] = {0, 2, 1, 3, 4};
    for (unsigned i = 2; i < n.rank; i++) shape[i + 1] = n.shape[i];
    const eg_node turned = eg_transpose(g, eg_reshape(g, w, n.rank + 1, shape), order);
    shape[0] = groups * n.shape[1];
    shape[1] = n.shape[0] / groups;
    for (unsigned i = 2; i < n.rank; i++) shape[i] = n.shape[i];
    return eg_reshape(g, turned, n.rank, shape);
}

/* Result i reads x[j] through tap k where i*stride = j*spread + before - k*dilation. In the
 * gradient stride and spread are swapped, and the taps are in reverse order. */
static void give_x(eg__backward *backward, const eg__node *n, const eg__conv_shape *s, eg_node x,
                   eg_node w, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    eg__attributes attributes = n->attributes;
    eg__conv_attributes *numbers = &attributes.conv;
    for (int a = 0; a < 2; a++) {
        const eg__conv_axis *axis = &s->axis[a];
        const int64_t reach = (int64_t)((axis->taps - 1) * axis->dilation);
        numbers->stride[a] = (int64_t)axis->spread;
        numbers->spread[a] = (int64_t)axis->stride;
        numbers->before[a] = reach - (int64_t)axis->before;
        numbers->after[a] = (int64_t)((axis->in - 1) * axis->spread) + reach -
                            (int64_t)((axis->out - 1) * axis->stride) - numbers->before[a];
    }
    numbers->flipped = !numbers->flipped;
    if (!eg__conv_fits(numbers)) {
        eg__graph_mistake(g, EG_ERR_OVERFLOW,
                          "conv: padding of %lld and %lld in the gradient is out of range",
                          (long long)numbers->before[0], (long long)numbers->before[1]);
        return;
    }
    const eg_node turned = turn_filters(g, eg__backward_value(backward, w), s->groups);
    eg__backward_give(backward, x, eg__graph_add2(g, EG__GRAPH_conv, 0, d, turned, &attributes));
}

static void give_w(eg__backward *backward, const eg__node *n, const eg__conv_shape *s, eg_node x,
                   eg_node w, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    eg__attributes attributes = n->attributes;
    for (int a = 0; a < 2; a++) attributes.conv.taps[a] = (int64_t)s->axis[a].taps;
    eg__backward_give(
        backward, w,
        eg__graph_add2(g, EG__GRAPH_conv_dw, 0, eg__backward_value(backward, x), d, &attributes));
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node x = eg__node_input(g, &n, 0), w = eg__node_input(g, &n, 1);
    eg__conv_shape s;
    eg_error error;
    if (eg__conv_shape_of(g, &n, &s, &error)) return; /* checked when it was built */
    if (eg__backward_wants(backward, x)) give_x(backward, &n, &s, x, w, d);
    if (eg__backward_wants(backward, w)) give_w(backward, &n, &s, x, w, d);
}

/* ---- the definition: visits every pair of a result and a filter tap */
typedef void pair_function(const double *const *in, double *out, size_t x, size_t w, size_t y);
static void add_result(const double *const *in, double *out, size_t x, size_t w, size_t y) {
    out[y] += in[0][x] * in[1][w];
}
static void add_filter(const double *const *in, double *out, size_t x, size_t w, size_t y) {
    out[w] += in[0][x] * in[1][y];
}

static void filter_pairs(const eg__conv_shape *s, size_t sample, size_t filter, size_t p,
                         const double *const *in, double *out, pair_function *add) {
    const size_t taps = eg__conv_taps(s), across = s->axis[1].taps, width = s->axis[1].out;
    const size_t channels = s->channels / s->groups, group = filter / (s->filters / s->groups);
    for (size_t k = 0; k < channels * taps; k++) {
        const size_t channel = sample * s->channels + group * channels + k / taps, t = k % taps;
        size_t row, column;
        if (!eg__conv_meets(&s->axis[0], p / width, eg__conv_offset(s, 0, t / across), &row) ||
            !eg__conv_meets(&s->axis[1], p % width, eg__conv_offset(s, 1, t % across), &column))
            continue;
        add(in, out, (channel * s->axis[0].in + row) * s->axis[1].in + column,
            filter * channels * taps + k,
            (sample * s->filters + filter) * eg__conv_positions(s) + p);
    }
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const uint64_t samples = eg__node_at(graph, eg__node_input(graph, node, 0))->shape[0];
    const uint64_t elements = eg__node_elements(node);
    eg__conv_shape s;
    eg_error error;
    if (eg__conv_shape_of(graph, node, &s, &error)) return;
    pair_function *add = node->op == EG__GRAPH_conv_dw ? add_filter : add_result;
    for (uint64_t i = 0; i < elements; i++) out[i] = 0;
    for (size_t b = 0; b < samples; b++)
        for (size_t o = 0; o < s.filters; o++)
            for (size_t p = 0; p < eg__conv_positions(&s); p++)
                filter_pairs(&s, b, o, p, in, out, add);
}

/* ---- steps */

/* A 1x1 filter without padding: each result reads one pixel, so the samples form one row. */
static void flatten(eg__conv_shape *s) {
    for (int a = 0; a < 2; a++) {
        const eg__conv_axis *axis = &s->axis[a];
        if (axis->taps > 1 || axis->stride > 1 || axis->spread > 1 || axis->before ||
            axis->in != axis->out)
            return;
    }
    s->axis[1].in = s->axis[1].out = s->axis[0].in * s->axis[1].in;
    s->axis[0].in = s->axis[0].out = 1;
}

static void lower_any(eg__lowering *l, uint32_t id, eg__step_id kind) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t inputs[] = {eg__lower_input(l, id, 0), eg__lower_input(l, id, 1)};
    const uint64_t samples = eg__lower_node(l, inputs[0])->shape[0];
    const bool back = node->op == EG__GRAPH_conv_dw;
    eg__step step = eg__lower_begin(id, kind);
    eg__conv_shape *s = &step.u.conv.shape;
    l->status = eg__conv_shape_of(l->graph, node, s, l->error);
    if (l->status) return;
    flatten(s);
    const eg__view x = eg__lower_contiguous(l, inputs[0]), w = eg__lower_contiguous(l, inputs[1]),
                   y = eg__lower_dense_storage(l, id, 0);
    if (l->status || !eg__node_elements(node)) return;
    step.columns = back ? eg__conv_depth(s) : eg__conv_positions(s);
    step.items = back ? eg__conv_dw_items(s) : (size_t)samples * eg__conv_items(s);
    step.timed = !back && l->timed[id] && l->length;
    if (step.timed) step.items /= l->length;
    step.u.conv.samples = (size_t)samples;
    step.flops = flops(l->graph, node);
    step.bytes = 4.0 * ((double)eg__node_elements(node) +
                        (double)eg__node_elements(eg__lower_node(l, inputs[0])) +
                        (double)eg__node_elements(eg__lower_node(l, inputs[1])));
    const eg__operand operands[] = {eg__lower_operand(&step, &x, 0, false),
                                    eg__lower_operand(&step, &w, 0, false),
                                    eg__lower_operand(&step, &y, 0, false)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

static void lower(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_conv); }
static void lower_dw(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_conv_dw); }

/* Samples are independent. */
static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node;
    return input == 0 && axis == 0 ? 0 : EG__TIME_MIXED;
}

/* All steps use the same filters: reshape [T, B, ..] to [T B, ..] and back. */
static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    const eg__node x = *eg__node_at(graph, in[0]);
    uint64_t samples[EG_RANK_MAX] = {x.shape[0] * x.shape[1]};
    for (unsigned i = 1; i + 1 < x.rank; i++) samples[i] = x.shape[i + 1];
    in[0] = eg_reshape(graph, in[0], x.rank - 1, samples);
    const eg_node y = eg__graph_add(graph, node->op, node->kind, 2, in, &node->attributes, NULL);
    return eg_reshape(graph, y, node->rank + 1, shape);
}

const eg__op eg__op_conv = {.name = "conv",
                            .is_kept = eg__always_kept,
                            .from_index = eg__conv_from_index,
                            .infer = infer,
                            .flops = flops,
                            .gradient = gradient,
                            .evaluate = evaluate,
                            .lower = lower,
                            .time = time_axis,
                            .lifts = eg__lifts_first,
                            .lift = lift};
const eg__op eg__op_conv_dw = {.name = "conv_dw",
                               .from_index = eg__conv_from_index,
                               .infer = infer,
                               .flops = flops,
                               .evaluate = evaluate,
                               .lower = lower_dw};
