/* reshape: the same elements in another shape. */
#include "graph/lower/lower.h"

#include <string.h>

eg_node eg_reshape(eg_graph *graph, eg_node x, unsigned rank, const uint64_t *shape) {
    if (!graph || !x.id) return (eg_node){0};
    if (rank > EG_RANK_MAX || (rank && !shape))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "reshape: rank %u is not within 0..%d",
                                 rank, EG_RANK_MAX);
    eg__node like = {.rank = rank};
    for (unsigned i = 0; i < rank; i++) like.shape[i] = shape[i];
    return eg__graph_add(graph, EG__GRAPH_reshape, 0, 1, &x, NULL, &like);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    uint64_t elements = 0;
    eg_tensor wanted = {.type = x->type, .rank = node->rank};
    memcpy(wanted.shape, node->shape, sizeof wanted.shape);
    eg_status status = eg_tensor_measure(&wanted, &elements, NULL, error);
    if (status) return status;
    char from[160], to[160];
    if (elements != eg__node_elements(x))
        return eg__fail(error, EG_ERR_ARGUMENT, "%s and %s have different numbers of elements",
                        eg__shape_text(x, from), eg__shape_text(node, to));
    node->type = x->type;
    return EG_OK;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    eg_node x = eg__node_input(graph, eg__node_at(graph, node), 0);
    const eg__node from = *eg__node_at(graph, x);
    eg__backward_give(backward, x, eg_reshape(graph, d, from.rank, from.shape));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    (void)graph;
    memcpy(out, in[0], eg__node_elements(node) * sizeof *out);
}

/* Matches groups of axes with the same number of elements on both sides; a group must be contiguous
 * to be split differently. */
static bool view(const eg_graph *graph, const eg__node *node, const eg__view *in, eg__view *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned i = 0, k = 0;
    *out = *in;
    if (!eg__node_elements(node)) return true;
    while (i < x->rank || k < node->rank) {
        const unsigned from = i, to = k;
        uint64_t old = i < x->rank ? x->shape[i++] : 1,
                 fresh = k < node->rank ? node->shape[k++] : 1;
        while (old != fresh) {
            if (old < fresh) old *= x->shape[i++];
            else fresh *= node->shape[k++];
        }
        size_t stride = 0, expected = 0;
        for (unsigned a = i; a-- > from;) {
            if (x->shape[a] == 1) continue;
            if (!expected) stride = in->stride[a];
            else if (in->stride[a] != expected) return false;
            expected = in->stride[a] * (size_t)x->shape[a];
            if (!expected && a > from) { /* broadcast axes (stride 0) only match broadcast axes */
                for (unsigned b = a; b-- > from;)
                    if (x->shape[b] != 1 && in->stride[b]) return false;
                break;
            }
        }
        for (unsigned a = k; a-- > to;) {
            out->stride[a] = stride;
            stride *= (size_t)node->shape[a];
        }
    }
    return true;
}

static bool same_until(const eg__node *a, const eg__node *b, int axis) {
    for (int i = 0; i <= axis; i++)
        if ((unsigned)i >= a->rank || (unsigned)i >= b->rank || a->shape[i] != b->shape[i])
            return false;
    return true;
}

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const eg__node *x = eg__node_at(clock->graph, eg__node_input(clock->graph, node, input));
    if (axis == 0 && node->rank && node->shape[0] % clock->length == 0) return 0;
    return same_until(node, x, axis) ? axis : EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    return eg__has_items(eg__node_at(graph, eg__node_input(graph, node, 0)), items);
}

static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    return eg_reshape(graph, in[0], node->rank + 1, shape);
}

const eg__op eg__op_reshape = {.name = "reshape",
                               .moves = true,
                               .infer = infer,
                               .gradient = gradient,
                               .evaluate = evaluate,
                               .view = view,
                               .time = time_axis,
                               .keeps_items = keeps_items,
                               .lifts = eg__lifts_always,
                               .lift = lift,
                               .lifts_any_rank = true};
