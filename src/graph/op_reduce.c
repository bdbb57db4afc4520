/* Reductions over axes, and argmax. index: bits of the axes, keep. */
#include "graph/graph.h"

#include <math.h>
#include <string.h>

typedef enum reduction { SUM, MEAN, LARGEST, REDUCTIONS } reduction;

const char *eg__reduce_name(unsigned kind) {
    static const char *const names[REDUCTIONS] = {"sum", "mean", "largest"};
    return kind < REDUCTIONS ? names[kind] : "reduce";
}

static eg_node reduce(eg_graph *graph, reduction kind, eg_node x, unsigned axes, int keep) {
    if (!graph || !x.id || x.id > graph->size) return (eg_node){0};
    if (axes == EG_ALL_AXES) axes = (1u << eg__node_at(graph, x)->rank) - 1;
    eg__attributes attributes = {{axes, keep != 0}, 0};
    return eg__graph_add1(graph, EG__GRAPH_reduce, kind, x, &attributes);
}
eg_node eg_sum(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, SUM, x, axes, keep);
}
eg_node eg_mean(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, MEAN, x, axes, keep);
}
eg_node eg_largest(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, LARGEST, x, axes, keep);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned axes = (unsigned)node->attributes.index[0];
    char text[160];
    if (x->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'", eg_type_name(x->type));
    if (axes >> x->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "axes 0x%x are not all in %s", axes,
                        eg__shape_text(x, text));
    node->type = EG_F32;
    node->rank = 0;
    for (unsigned i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1;
        if (reduced && node->kind == LARGEST && !x->shape[i])
            return eg__fail(error, EG_ERR_ARGUMENT, "nothing is largest in axis %u of %s", i,
                            eg__shape_text(x, text));
        if (!reduced || node->attributes.index[1])
            node->shape[node->rank++] = reduced ? 1 : x->shape[i];
    }
    return EG_OK;
}

static double flops(const eg_graph *graph, const eg__node *node) {
    return (double)eg__node_elements(eg__node_at(graph, eg__node_input(graph, node, 0)));
}

/* The shape of the result with the reduced axes kept, which broadcasts against x. */
static eg__node kept_shape(const eg__node *x, unsigned axes) {
    eg__node kept = {.rank = x->rank};
    for (unsigned i = 0; i < x->rank; i++) kept.shape[i] = axes >> i & 1 ? 1 : x->shape[i];
    return kept;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node x = eg__node_input(g, &n, 0);
    const eg__node from = *eg__node_at(g, x);
    const unsigned axes = (unsigned)n.attributes.index[0];
    const eg__node kept = kept_shape(&from, axes);
    eg_node spread = eg_reshape(g, d, kept.rank, kept.shape);
    if (n.kind == MEAN) {
        double count = (double)eg__node_elements(&from) / (double)eg__node_elements(&kept);
        spread = eg_mul(g, spread, eg_scalar(g, 1 / count));
    }
    if (n.kind == LARGEST) { /* ties share */
        eg_node value = eg__backward_value(backward, x);
        eg_node best = eg_reshape(g, eg__backward_value(backward, node), kept.rank, kept.shape);
        eg_node ties = eg_eq(g, value, best);
        eg__backward_give(backward, x,
                          eg_mul(g, ties, eg_div(g, spread, eg_sum(g, ties, axes, 1))));
        return;
    }
    eg__backward_give(backward, x, eg_broadcast(g, spread, from.rank, from.shape));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node kept = kept_shape(x, (unsigned)node->attributes.index[0]);
    const uint64_t from = eg__node_elements(x), to = eg__node_elements(node);
    for (uint64_t i = 0; i < to; i++) out[i] = node->kind == LARGEST ? -INFINITY : 0;
    for (uint64_t i = 0; i < from; i++) {
        double *result = &out[eg__broadcast_index(x, &kept, i)];
        if (node->kind == LARGEST)
            *result = isnan(in[0][i]) || isnan(*result) ? NAN : fmax(*result, in[0][i]);
        else *result += in[0][i];
    }
    for (uint64_t i = 0; node->kind == MEAN && i < to; i++) out[i] /= (double)from / (double)to;
}

/* ---- argmax, along the last axis */
eg_node eg_argmax(eg_graph *graph, eg_node x) {
    return eg__graph_add1(graph, EG__GRAPH_argmax, 0, x, NULL);
}

static eg_status infer_argmax(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    char text[160];
    if (x->type != EG_F32 || !x->rank || !x->shape[x->rank - 1] ||
        x->shape[x->rank - 1] > INT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' %s has no last axis to search",
                        eg_type_name(x->type), eg__shape_text(x, text));
    node->type = EG_I32;
    node->rank = x->rank - 1;
    memcpy(node->shape, x->shape, node->rank * sizeof *node->shape);
    return EG_OK;
}

static void evaluate_argmax(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const uint64_t n = x->shape[x->rank - 1];
    for (uint64_t r = 0; r < eg__node_elements(node); r++) {
        uint64_t best = 0;
        for (uint64_t i = 0; i < n; i++) {
            double value = in[0][r * n + i], record = in[0][r * n + best];
            if (!isnan(record) && (isnan(value) || value > record)) best = i;
        }
        out[r] = (double)best;
    }
}

const eg__op eg__op_reduce = {
    .name = "reduce", .infer = infer, .flops = flops, .gradient = gradient, .evaluate = evaluate};
const eg__op eg__op_argmax = {
    .name = "argmax", .infer = infer_argmax, .flops = flops, .evaluate = evaluate_argmax};
