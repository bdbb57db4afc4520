/* broadcast: repeats extents of 1 and adds leading axes, as in numpy. */
#include "graph/lower/lower.h"

eg_node eg_broadcast(eg_graph *graph, eg_node x, unsigned rank, const uint64_t *shape) {
    if (!graph || !x.id) return (eg_node){0};
    if (rank > EG_RANK_MAX || (rank && !shape))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "broadcast: rank %u is not within 0..%d",
                                 rank, EG_RANK_MAX);
    eg__node like = {.rank = rank};
    for (unsigned i = 0; i < rank; i++) like.shape[i] = shape[i];
    return eg__graph_add(graph, EG__GRAPH_broadcast, 0, 1, &x, NULL, &like);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    eg__node result = {0};
    eg_status status = eg__broadcast_shape(x, node, &result, error);
    if (status) return status;
    char from[160], to[160];
    if (!eg__same_shape(&result, node))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s does not broadcast to %s",
                        eg__shape_text(x, from), eg__shape_text(node, to));
    node->type = x->type;
    return EG_OK;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    const eg_graph *graph = eg__backward_graph(backward);
    eg__backward_give(backward, eg__node_input(graph, eg__node_at(graph, node), 0), d);
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    for (uint64_t i = 0; i < eg__node_elements(node); i++)
        out[i] = in[0][eg__broadcast_index(node, x, i)];
}

static bool view(const eg_graph *graph, const eg__node *node, const eg__view *in, eg__view *out) {
    *out = eg__view_broadcast(eg__node_at(graph, eg__node_input(graph, node, 0)), in, node);
    return true;
}

static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    return eg_broadcast(graph, in[0], node->rank + 1, shape);
}

const eg__op eg__op_broadcast = {.name = "broadcast",
                                 .moves = true,
                                 .infer = infer,
                                 .gradient = gradient,
                                 .evaluate = evaluate,
                                 .view = view,
                                 .time = eg__time_aligned,
                                 .keeps_items = eg__keeps_aligned,
                                 .lifts = eg__lifts_always,
                                 .lift = lift};
