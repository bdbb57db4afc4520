/* softmax and log-softmax over the last axis; kind 1 is the logarithm. */
#include "graph/lower/lower.h"

#include <math.h>

eg_node eg_softmax(eg_graph *graph, eg_node x) {
    return eg__graph_add1(graph, EG__GRAPH_softmax, 0, x, NULL);
}
eg_node eg_log_softmax(eg_graph *graph, eg_node x) {
    return eg__graph_add1(graph, EG__GRAPH_softmax, 1, x, NULL);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    char text[160];
    if (x->type != EG_F32 || !x->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 with a non-empty last axis, got '%s' %s",
                        eg_type_name(x->type), eg__shape_text(x, text));
    eg__shape_copy(node, x);
    return EG_OK;
}

/* maximum, subtract, exp, add, divide */
static double flops(const eg_graph *graph, const eg__node *node) {
    (void)graph;
    return 5.0 * (double)eg__node_elements(node);
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const unsigned last = 1u << (n.rank - 1);
    eg_node y = eg__backward_value(backward, node), dx;
    if (n.kind) dx = eg_sub(g, d, eg_mul(g, eg_exp(g, y), eg_sum(g, d, last, 1)));
    else dx = eg_mul(g, y, eg_sub(g, d, eg_sum(g, eg_mul(g, d, y), last, 1)));
    eg__backward_give(backward, eg__node_input(g, &n, 0), dx);
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    const uint64_t n = node->shape[node->rank - 1], all = eg__node_elements(node);
    for (uint64_t r = 0; n && r < all / n; r++) {
        const double *x = in[0] + r * n;
        double *y = out + r * n, max = -INFINITY, sum = 0;
        for (uint64_t i = 0; i < n; i++) max = x[i] > max || isnan(x[i]) ? x[i] : max;
        for (uint64_t i = 0; i < n; i++) sum += exp(x[i] - max);
        for (uint64_t i = 0; i < n; i++)
            y[i] = node->kind ? x[i] - max - log(sum) : exp(x[i] - max) / sum;
    }
}

static void lower(eg__lowering *l, uint32_t id) {
    eg__step_rows rows = {.logarithm = eg__lower_node(l, id)->kind != 0};
    eg__lower_rows_step(l, id, EG__STEP_softmax, &rows, flops(l->graph, eg__lower_node(l, id)));
}

static const char *kind_name(unsigned kind) { return kind ? "log_softmax" : "softmax"; }

const eg__op eg__op_softmax = {.name = "softmax",
                               .kinds = 2,
                               .kind_name = kind_name,
                               .is_kept = eg__always_kept,
                               .infer = infer,
                               .flops = flops,
                               .gradient = gradient,
                               .evaluate = evaluate,
                               .lower = lower,
                               .time = eg__time_rows,
                               .keeps_items = eg__keeps_rows,
                               .lifts = eg__lifts_always};
