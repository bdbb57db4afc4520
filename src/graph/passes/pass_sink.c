/* Values that no carry depends on are sunk out of a scan: output projections become one product
 * after it, and sums of weight gradients over all steps become one product over time and batch. */
#include "graph/passes/lift.h"
#include "graph/passes/passes.h"

/* Whether `id` depends, inside the scan, on a product that no carry depends on. */
static bool has_free_product(const eg__lift *l, uint32_t id) {
    const eg__node *node = eg__old(l->r, id);
    if (!node->scan || l->needed[id] || node->op == EG__GRAPH_step || !eg__lift_can(l, id))
        return false;
    if (node->op == EG__GRAPH_matmul) return true;
    for (unsigned i = 0; i < node->input_count; i++)
        if (has_free_product(l, eg__old_input(l->r, id, i))) return true;
    return false;
}

/* ---- sums over all steps */

/* [T, B, ..] as [T B, ..] */
static eg_node join_time(eg_graph *g, eg_node x) {
    const eg__node n = *eg__node_at(g, x);
    uint64_t shape[EG_RANK_MAX];
    for (unsigned i = 1; i < n.rank; i++) shape[i - 1] = n.shape[i];
    shape[0] *= n.shape[0];
    return eg_reshape(g, x, n.rank - 1, shape);
}

/* a' d for all steps. A column-wise concat in a is a row-wise concat in the result. */
static eg_node product(eg_graph *g, eg_node a, eg_node d) {
    const eg__node left = *eg__node_at(g, a);
    enum { MANY = 64 };
    if (left.op == EG__GRAPH_concat && left.attributes.concat.axis == left.rank - 1 &&
        left.input_count <= MANY) {
        eg_node parts[MANY];
        for (unsigned i = 0; i < left.input_count; i++)
            parts[i] = product(g, eg__node_input(g, &left, i), d);
        return eg_concat(g, 0, left.input_count, parts);
    }
    return eg_matmul_transposed(g, join_time(g, a), 1, d, 0);
}

/* The gradients of synapse parameters of all steps: one sum over time and batch. */
static eg_node synapses_of(eg__lift *l, uint32_t id) {
    const eg__rewrite *r = l->r;
    enum { D = 6 }; /* the last input */
    eg_node in[D + 1];
    for (unsigned i = 0; i <= D; i++) {
        const uint32_t input = eg__old_input(r, id, i);
        const bool inside = eg__old(r, input)->scan != 0;
        if (inside != (i == 0 || i == D) || (inside && eg__old(r, input)->rank == EG_RANK_MAX))
            return (eg_node){0};
        in[i] = eg__lift_node(l, input);
    }
    return eg__graph_add(r->to, EG__GRAPH_synapses_dp, 0, D + 1, in, &eg__old(r, id)->attributes,
                         NULL);
}

/* A term of the sum as one product (or sum) over time and batch; {0} = not possible. */
static eg_node total_of(eg__lift *l, uint32_t id) {
    const eg__rewrite *r = l->r;
    eg_graph *g = r->to;
    const eg__node *node = eg__old(r, id);
    if (!node->scan) return (eg_node){0};
    if (node->op == EG__GRAPH_binary && node->kind == EG__BINARY_add && !l->needed[id]) {
        eg_node a = total_of(l, eg__old_input(r, id, 0)), b = total_of(l, eg__old_input(r, id, 1));
        return a.id && b.id ? eg_add(g, a, b) : (eg_node){0};
    }
    const uint32_t x = node->input_count ? eg__old_input(r, id, 0) : 0;
    if (node->op == EG__GRAPH_slice && node->attributes.slice.axis == 0) {
        eg_node inner = total_of(l, x);
        return inner.id ? eg_slice(g, inner, 0, node->attributes.slice.start, node->shape[0])
                        : inner;
    }
    if (node->op == EG__GRAPH_synapses_dp) return synapses_of(l, id);
    if (node->op == EG__GRAPH_reshape) {
        eg_node inner = total_of(l, x);
        return inner.id ? eg_reshape(g, inner, node->rank, node->shape) : inner;
    }
    if (node->op == EG__GRAPH_reduce && node->kind == 0 && node->attributes.reduce.axes & 1) {
        const unsigned axes = node->attributes.reduce.axes << 1 | 1;
        return eg__old(r, x)->scan && eg__old(r, x)->rank < EG_RANK_MAX
                   ? eg_reshape(g, eg_sum(g, eg__lift_node(l, x), axes, 0), node->rank, node->shape)
                   : (eg_node){0};
    }
    if (node->op != EG__GRAPH_matmul || !node->attributes.matmul.a_transposed ||
        node->attributes.matmul.b_transposed)
        return (eg_node){0};
    const uint32_t d = eg__old_input(r, id, 1);
    if (eg__old(r, x)->rank != 2 || eg__old(r, d)->rank != 2 || !eg__old(r, x)->scan ||
        !eg__old(r, d)->scan)
        return (eg_node){0};
    return product(g, eg__lift_node(l, x), join_time(g, eg__lift_node(l, d)));
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    eg__lift *l = r->user;
    const eg__node *node = eg__old(r, id);
    if (node->op == EG__GRAPH_stack && !node->attributes.stack.every &&
        has_free_product(l, eg__old_input(r, id, 1)))
        return eg__lift_node(l, eg__old_input(r, id, 1));
    if (node->op == EG__GRAPH_total) return total_of(l, eg__old_input(r, id, 1));
    return (eg_node){0};
}

eg_status eg__pass_sink(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                        eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {
        .rule = rule, .begin = eg__lift_open, .end = eg__lift_close, .size = sizeof(eg__lift)};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
