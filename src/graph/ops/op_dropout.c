/* dropout: number is the rate, index[0] the key. The gradient drops the same elements, because it has
 * the same key. */
#include "graph/lower/lower.h"

static eg_node add(eg_graph *graph, eg_node x, double rate, int64_t key) {
    eg__attributes attributes = {{key}, rate};
    return eg__graph_add1(graph, EG__GRAPH_dropout, 0, x, &attributes);
}

eg_node eg_dropout(eg_graph *graph, eg_node x, double rate) {
    if (!graph) return (eg_node){0};
    return add(graph, x, rate, (int64_t)graph->size + 1);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const double rate = node->attributes.number;
    if (!(rate >= 0 && rate < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "rate %g is not within [0, 1)", rate);
    return eg__infer_like(graph, node, error);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg__backward_give(backward, eg__node_input(graph, &n, 0),
                      add(graph, d, n.attributes.number, n.attributes.index[0]));
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const eg__matrix x = eg__lower_rows(l, eg__lower_input(l, id, 0));
    const eg__matrix y = eg__lower_rows_home(l, id, eg__lower_input(l, id, 0));
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_dropout, x.rows, x.columns);
    step.u.dropout = (eg__step_dropout){.key = (uint64_t)node->attributes.index[0],
                                        .rate = node->attributes.number,
                                        .in_scan = node->scan != 0};
    if (node->scan)
        step.u.dropout.first = (uint64_t)eg__lower_node(l, node->scan)->attributes.index[2];
    step.flops = (double)eg__node_elements(node);
    step.bytes = 8 * step.flops;
    eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                              eg__lower_operand(&step, &y.view, y.stride, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

const eg__op eg__op_dropout = {.name = "dropout",
                               .infer = infer,
                               .flops = eg__flops_per_element,
                               .gradient = gradient,
                               .lower = lower};
