/* transpose: the axes in another order. order[i] is the axis of x that becomes axis i. */
#include "graph/lower/lower.h"

eg_node eg_transpose(eg_graph *graph, eg_node x, const unsigned *order) {
    if (!graph || !x.id || x.id > graph->size) return (eg_node){0};
    eg__attributes attributes = {.transpose = {{0}}};
    for (unsigned i = 0; order && i < eg__node_at(graph, x)->rank; i++)
        attributes.transpose.order[i] = order[i];
    return eg__graph_add1(graph, EG__GRAPH_transpose, 0, x, &attributes);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned seen = 0;
    node->type = x->type;
    node->rank = x->rank;
    for (unsigned i = 0; i < x->rank; i++) {
        const unsigned axis = node->attributes.transpose.order[i];
        if (axis >= x->rank || seen >> axis & 1) {
            char text[160];
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "axis %u at position %u is not a permutation of the axes of %s", axis,
                            i, eg__shape_text(x, text));
        }
        seen |= 1u << axis;
        node->shape[i] = x->shape[axis];
    }
    return EG_OK;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    unsigned inverse[EG_RANK_MAX] = {0};
    for (unsigned i = 0; i < n.rank; i++) inverse[n.attributes.transpose.order[i]] = i;
    eg__backward_give(backward, eg__node_input(graph, &n, 0), eg_transpose(graph, d, inverse));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    uint64_t stride[EG_RANK_MAX], step = 1;
    for (unsigned i = x->rank; i-- > 0; step *= x->shape[i]) stride[i] = step;
    for (uint64_t at = 0; at < eg__node_elements(node); at++) {
        uint64_t rest = at, from = 0;
        for (unsigned i = node->rank; i-- > 0; rest /= node->shape[i])
            from += rest % node->shape[i] * stride[node->attributes.transpose.order[i]];
        out[at] = in[0][from];
    }
}

static bool view(const eg_graph *graph, const eg__node *node, const eg__view *in, eg__view *out) {
    (void)graph;
    *out = *in;
    for (unsigned i = 0; i < node->rank; i++)
        out->stride[i] = in->stride[node->attributes.transpose.order[i]];
    return true;
}

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)input;
    for (unsigned i = 0; i < node->rank; i++)
        if ((int)node->attributes.transpose.order[i] == axis) return (int)i;
    return EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)graph, (void)items;
    return node->attributes.transpose.order[0] == 0;
}

static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    eg__attributes attributes = {.transpose = {{0}}};
    (void)shape;
    for (unsigned i = 0; i < node->rank; i++)
        attributes.transpose.order[i + 1] = node->attributes.transpose.order[i] + 1;
    return eg__graph_add1(graph, EG__GRAPH_transpose, 0, in[0], &attributes);
}

const eg__op eg__op_transpose = {.name = "transpose",
                                 .moves = true,
                                 .infer = infer,
                                 .gradient = gradient,
                                 .evaluate = evaluate,
                                 .view = view,
                                 .time = time_axis,
                                 .time_is_forward = true,
                                 .keeps_items = keeps_items,
                                 .lifts = eg__lifts_always,
                                 .lift = lift};
