/* Layer norm (kind 0) and rms norm (kind 1) over the last axis. number is epsilon. */
#include "graph/lower/lower.h"

#include <math.h>

enum { LAYER, RMS };

static eg_node norm(eg_graph *graph, unsigned kind, eg_node x, double epsilon) {
    eg__attributes attributes = {.norm = {epsilon}};
    return eg__graph_add1(graph, EG__GRAPH_norm, kind, x, &attributes);
}
eg_node eg_layer_norm(eg_graph *graph, eg_node x, double epsilon) {
    return norm(graph, LAYER, x, epsilon);
}
eg_node eg_rms_norm(eg_graph *graph, eg_node x, double epsilon) {
    return norm(graph, RMS, x, epsilon);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    char text[160];
    if (x->type != EG_F32 || !x->rank || !x->shape[x->rank - 1])
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 with a non-empty last axis, got '%s' %s",
                        eg_type_name(x->type), eg__shape_text(x, text));
    if (!(node->attributes.norm.epsilon >= 0) || !isfinite(node->attributes.norm.epsilon))
        return eg__fail(error, EG_ERR_ARGUMENT, "epsilon %g is not a finite number >= 0",
                        node->attributes.norm.epsilon);
    eg__shape_copy(node, x);
    return EG_OK;
}

/* Per element: add, subtract, square, add, subtract again, scale; rms norm needs no mean. */
static double flops(const eg_graph *graph, const eg__node *node) {
    (void)graph;
    return (node->kind == LAYER ? 6.0 : 3.0) * (double)eg__node_elements(node);
}

/* With y = (x - mean) r: dx = r (d - mean(d) - y mean(d y)); rms norm has no mean(d). */
static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const unsigned last = 1u << (n.rank - 1);
    const eg_node input = eg__node_input(g, &n, 0);
    eg_node x = eg__backward_value(backward, input), y = eg__backward_value(backward, node);
    eg_node centred = n.kind == LAYER ? eg_sub(g, x, eg_mean(g, x, last, 1)) : x;
    eg_node variance = eg_mean(g, eg_mul(g, centred, centred), last, 1);
    eg_node scale = eg_rsqrt(g, eg_add(g, variance, eg_scalar(g, n.attributes.norm.epsilon)));
    eg_node dx = eg_sub(g, d, eg_mul(g, y, eg_mean(g, eg_mul(g, d, y), last, 1)));
    if (n.kind == LAYER) dx = eg_sub(g, dx, eg_mean(g, d, last, 1));
    eg__backward_give(backward, input, eg_mul(g, scale, dx));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    const uint64_t n = node->shape[node->rank - 1], all = eg__node_elements(node);
    for (uint64_t r = 0; r < all / n; r++) {
        const double *x = in[0] + r * n;
        double mean = 0, square = 0;
        for (uint64_t i = 0; node->kind == LAYER && i < n; i++) mean += x[i] / (double)n;
        for (uint64_t i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
        double scale = 1 / sqrt(square / (double)n + node->attributes.norm.epsilon);
        for (uint64_t i = 0; i < n; i++) out[r * n + i] = (x[i] - mean) * scale;
    }
}

static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    eg__step_rows rows = {.number = (float)node->attributes.norm.epsilon};
    const bool layer = node->kind == LAYER;
    eg__lower_rows_step(l, id, layer ? EG__STEP_layer_norm : EG__STEP_rms_norm, &rows,
                        flops(l->graph, node));
}

static const char *kind_name(unsigned kind) { return kind ? "rms_norm" : "layer_norm"; }

const eg__op eg__op_norm = {.name = "norm",
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
