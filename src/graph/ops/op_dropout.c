/* dropout: random bits are a function of its key. The gradient drops the same elements, because it has
 * the same key. */
#include "graph/lower/lower.h"

static eg_node add(eg_graph *graph, eg_node x, double rate, uint64_t key) {
    eg__attributes attributes = {.dropout = {key, rate}};
    return eg__graph_add1(graph, EG__GRAPH_dropout, 0, x, &attributes);
}

eg_node eg_dropout(eg_graph *graph, eg_node x, double rate) {
    if (!graph) return (eg_node){0};
    return add(graph, x, rate, (uint64_t)graph->size + 1);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const double rate = node->attributes.dropout.rate;
    if (!(rate >= 0 && rate < 1))
        return eg__fail(error, EG_ERR_ARGUMENT, "rate %g is not within [0, 1)", rate);
    return eg__infer_like(graph, node, error);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg__backward_give(backward, eg__node_input(graph, &n, 0),
                      add(graph, d, n.attributes.dropout.rate, n.attributes.dropout.key));
}

/* Nothing is dropped outside of training. */
static void draw(const eg_graph *graph, const eg__node *node, const double *const *in, double *out,
                 const eg__chance *chance) {
    const eg__dropout_attributes *of = &node->attributes.dropout;
    const double rate = chance->training ? of->rate : 0;
    (void)graph;
    for (uint64_t i = 0; i < eg__node_elements(node); i++) {
        const uint64_t bits = eg__dropout_bits(chance->seed, of->key, chance->time, i);
        out[i] = (double)(bits >> 11) * 0x1p-53 < rate ? 0 : in[0][i] / (1 - rate);
    }
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const eg__matrix x = eg__lower_rows(l, eg__lower_input(l, id, 0));
    const eg__matrix y = eg__lower_rows_storage(l, id, eg__lower_input(l, id, 0));
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_dropout, x.rows, x.columns);
    step.u.dropout = (eg__step_dropout){.key = node->attributes.dropout.key,
                                        .rate = node->attributes.dropout.rate,
                                        .in_scan = node->scan != 0};
    if (node->scan) step.u.dropout.first = eg__lower_node(l, node->scan)->attributes.scan.first;
    step.flops = (double)eg__node_elements(node);
    step.bytes = 8 * step.flops;
    eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                              eg__lower_operand(&step, &y.view, y.stride, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node, (void)input;
    return axis == 0 ? 0 : EG__TIME_MIXED; /* the kernel numbers the elements */
}

const eg__op eg__op_dropout = {.name = "dropout",
                               .infer = infer,
                               .flops = eg__flops_per_element,
                               .gradient = gradient,
                               .draw = draw,
                               .lower = lower,
                               .time = time_axis,
                               .keeps_items = eg__keeps_rows};
