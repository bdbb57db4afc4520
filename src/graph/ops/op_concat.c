/* concat: tensors one after the other along an axis. */
#include "graph/lower/lower.h"

#include <string.h>

eg_node eg_concat(eg_graph *graph, unsigned axis, size_t count, const eg_node *parts) {
    if (!count || !parts)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "concat: needs at least one input");
    eg__attributes attributes = {.concat = {axis}};
    return eg__graph_add(graph, EG__GRAPH_concat, 0, count, parts, &attributes, NULL);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *first = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned axis = node->attributes.concat.axis;
    char a[160], b[160];
    if (axis >= first->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "no axis %u in %s", axis, eg__shape_text(first, a));
    eg__shape_copy(node, first);
    for (unsigned i = 1; i < node->input_count; i++) {
        const eg__node *part = eg__node_at(graph, eg__node_input(graph, node, i));
        bool fits = part->rank == first->rank && part->type == first->type;
        for (unsigned k = 0; fits && k < part->rank; k++)
            fits = k == axis || part->shape[k] == first->shape[k];
        if (!fits)
            return eg__fail(error, EG_ERR_ARGUMENT, "%s and %s differ in another axis than %u",
                            eg__shape_text(first, a), eg__shape_text(part, b), axis);
        if (__builtin_add_overflow(node->shape[axis], part->shape[axis], &node->shape[axis]))
            return eg__fail(error, EG_ERR_OVERFLOW, "the extent of axis %u overflows", axis);
    }
    return EG_OK;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    unsigned axis = n.attributes.concat.axis;
    uint64_t start = 0;
    for (unsigned i = 0; i < n.input_count; i++) {
        eg_node part = eg__node_input(graph, &n, i);
        uint64_t size = eg__node_at(graph, part)->shape[axis];
        if (eg__backward_wants(backward, part))
            eg__backward_give(backward, part, eg_slice(graph, d, axis, start, size));
        start += size;
    }
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    unsigned axis = node->attributes.concat.axis;
    uint64_t outer = 1, inner = 1;
    for (unsigned i = 0; i < axis; i++) outer *= node->shape[i];
    for (unsigned i = axis + 1; i < node->rank; i++) inner *= node->shape[i];
    for (uint64_t o = 0; o < outer; o++)
        for (unsigned i = 0; i < node->input_count; i++) {
            uint64_t n = eg__node_at(graph, eg__node_input(graph, node, i))->shape[axis] * inner;
            memcpy(out, in[i] + o * n, n * sizeof *out);
            out += n;
        }
}

/* Skips the inputs that were computed directly in the concat's storage. */
static void lower(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const unsigned axis = node->attributes.concat.axis;
    if (eg__lower_packs_parts(l, id)) return;
    const eg__view home = eg__lower_storage(l, id, 0);
    size_t start = 0;
    for (unsigned i = 0; i < node->input_count && !l->status; i++) {
        const uint32_t input = eg__lower_input(l, id, i);
        const eg__node *x = eg__lower_node(l, input);
        const eg__view from = eg__lower_value(l, input), to = eg__view_part(&home, axis, start);
        if (l->part_of[input] != id && !eg__view_same(x, &from, &to))
            eg__lower_copy(l, l->region[id], id, x, &from, &to);
        start += (size_t)x->shape[axis];
    }
}

/* Time passes through on every axis but the concatenated one. */
static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)input;
    return (int)node->attributes.concat.axis != axis ? axis : EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)graph, (void)items;
    return node->attributes.concat.axis != 0;
}

static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    const eg__concat_attributes *of = &node->attributes.concat;
    (void)shape;
    return eg_concat(graph, of->axis + 1, node->input_count, in);
}

const eg__op eg__op_concat = {.name = "concat",
                              .moves = true,
                              .infer = infer,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .lower = lower,
                              .time = time_axis,
                              .keeps_items = keeps_items,
                              .lifts = eg__lifts_always,
                              .lift = lift};
