/* select: one of two values, element by element. */
#include "graph/lower/lower.h"

eg_node eg_select(eg_graph *graph, eg_node condition, eg_node yes, eg_node no) {
    eg_node inputs[] = {condition, yes, no};
    return eg__graph_add(graph, EG__GRAPH_select, 0, 3, inputs, NULL, NULL);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg__node sum = {0};
    for (unsigned i = 0; i < 3; i++) {
        const eg__node *input = eg__node_at(graph, eg__node_input(graph, node, i));
        if (input->type != EG_F32)
            return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'",
                            eg_type_name(input->type));
        eg_status status = eg__broadcast_shape(&sum, input, &sum, error);
        if (status) return status;
    }
    node->type = EG_F32;
    return eg__broadcast_shape(&sum, &sum, node, error);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    eg_node condition = eg__backward_value(backward, eg__node_input(g, &n, 0));
    eg_node yes = eg__node_input(g, &n, 1), no = eg__node_input(g, &n, 2), zero = eg_scalar(g, 0);
    if (eg__backward_wants(backward, yes))
        eg__backward_give(backward, yes, eg_select(g, condition, d, zero));
    if (eg__backward_wants(backward, no))
        eg__backward_give(backward, no, eg_select(g, condition, zero, d));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *input[3];
    for (unsigned i = 0; i < 3; i++) input[i] = eg__node_at(graph, eg__node_input(graph, node, i));
    for (uint64_t i = 0; i < eg__node_elements(node); i++) {
        unsigned pick = in[0][eg__broadcast_index(node, input[0], i)] != 0 ? 1 : 2;
        out[i] = in[pick][eg__broadcast_index(node, input[pick], i)];
    }
}

static unsigned fused(const eg__node *node) {
    (void)node;
    return EG__FUSED_SELECT;
}

const eg__op eg__op_select = {.name = "select",
                              .infer = infer,
                              .flops = eg__flops_per_element,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .fused = fused,
                              .time = eg__time_aligned,
                              .keeps_items = eg__keeps_aligned,
                              .lifts = eg__lifts_always};
