/* barrier: recompute barrier. Passes x through unchanged; nodes that read it are not merged (common subexpressions) with nodes
 * that read x, and are scheduled after `after`. It emits no step and does not keep `after` alive: where nothing else
 * needs that, nothing is waited for. */
#include "graph/lower/lower.h"

#include <string.h>

enum { X, AFTER };

eg_node eg__barrier(eg_graph *graph, eg_node x, eg_node after) {
    return eg__graph_add2(graph, EG__GRAPH_barrier, 0, x, after, NULL);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, X));
    if (eg__is_quantized_leaf(x))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "quantized values of type '%s' must be widened first",
                        eg_type_name(x->type));
    eg__shape_copy(node, x);
    return EG_OK;
}

static double reads(const eg_graph *graph, const eg__node *node, unsigned i) {
    (void)graph;
    return i == X ? (double)eg__node_elements(node) : 0;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    const eg_graph *graph = eg__backward_graph(backward);
    eg__backward_give(backward, eg__node_input(graph, eg__node_at(graph, node), X), d);
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    memcpy(out, in[X], eg__node_elements(node) * sizeof *out);
}

static bool view(const eg_graph *graph, const eg__node *node, const eg__view *in, eg__view *out) {
    (void)graph;
    (void)node;
    *out = *in;
    return true;
}

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node;
    return input == X ? axis : EG__TIME_ENDS;
}

const eg__op eg__op_barrier = {.name = "barrier",
                               .moves = true,
                               .waited = 1,
                               .infer = infer,
                               .reads = reads,
                               .gradient = gradient,
                               .evaluate = evaluate,
                               .view = view,
                               .time = time_axis};
