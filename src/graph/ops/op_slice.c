/* slice: a range of one axis; pad: its transpose. */
#include "graph/lower/lower.h"

#include <string.h>

/* Products of the extents before and after an axis: the tensor is outer x extent x inner. */
static void split_at(const eg__node *node, unsigned axis, uint64_t *outer, uint64_t *inner) {
    *outer = *inner = 1;
    for (unsigned i = 0; i < axis; i++) *outer *= node->shape[i];
    for (unsigned i = axis + 1; i < node->rank; i++) *inner *= node->shape[i];
}

static eg_status copy_shape(const eg_graph *graph, eg__node *node, unsigned *axis,
                            eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    char text[160];
    eg__shape_copy(node, x);
    *axis = node->op == EG__GRAPH_slice ? node->attributes.slice.axis : node->attributes.pad.axis;
    if (*axis >= x->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "no axis %u in %s", *axis, eg__shape_text(x, text));
    return EG_OK;
}

/* ---- slice */
eg_node eg_slice(eg_graph *graph, eg_node x, unsigned axis, uint64_t start, uint64_t size) {
    if (start > INT64_MAX || size > INT64_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "slice: start or size overflows");
    eg__attributes attributes = {.slice = {axis, start, size}};
    return eg__graph_add1(graph, EG__GRAPH_slice, 0, x, &attributes);
}

static eg_status infer_slice(const eg_graph *graph, eg__node *node, eg_error *error) {
    unsigned axis;
    eg_status status = copy_shape(graph, node, &axis, error);
    if (status) return status;
    uint64_t start = node->attributes.slice.start, size = node->attributes.slice.size;
    char text[160];
    if (start > node->shape[axis] || size > node->shape[axis] - start)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu elements from %llu are not in axis %u of %s",
                        (unsigned long long)size, (unsigned long long)start, axis,
                        eg__shape_text(node, text));
    node->shape[axis] = size;
    return EG_OK;
}

static void gradient_slice(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg_node x = eg__node_input(graph, &n, 0);
    unsigned axis = n.attributes.slice.axis;
    uint64_t before = n.attributes.slice.start;
    uint64_t after = eg__node_at(graph, x)->shape[axis] - before - n.shape[axis];
    eg__backward_give(backward, x, eg_pad(graph, d, axis, before, after, 0));
}

static void evaluate_slice(const eg_graph *graph, const eg__node *node, const double *const *in,
                           double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned axis = node->attributes.slice.axis;
    uint64_t outer, inner, start = node->attributes.slice.start;
    split_at(node, axis, &outer, &inner);
    for (uint64_t o = 0; o < outer; o++)
        memcpy(out + o * node->shape[axis] * inner, in[0] + (o * x->shape[axis] + start) * inner,
               node->shape[axis] * inner * sizeof *out);
}

static bool view_slice(const eg_graph *graph, const eg__node *node, const eg__view *in,
                       eg__view *out) {
    (void)graph;
    *out = eg__view_part(in, node->attributes.slice.axis, node->attributes.slice.start);
    return true;
}

/* ---- pad */
eg_node eg_pad(eg_graph *graph, eg_node x, unsigned axis, uint64_t before, uint64_t after,
               double value) {
    if (before > INT64_MAX || after > INT64_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "pad: before or after overflows");
    eg__attributes attributes = {.pad = {axis, before, after, value}};
    return eg__graph_add1(graph, EG__GRAPH_pad, 0, x, &attributes);
}

static eg_status infer_pad(const eg_graph *graph, eg__node *node, eg_error *error) {
    unsigned axis;
    eg_status status = copy_shape(graph, node, &axis, error);
    if (status) return status;
    uint64_t *extent = &node->shape[axis];
    if (__builtin_add_overflow(*extent, node->attributes.pad.before, extent) ||
        __builtin_add_overflow(*extent, node->attributes.pad.after, extent))
        return eg__fail(error, EG_ERR_OVERFLOW, "axis %u overflows", axis);
    return EG_OK;
}

static void gradient_pad(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg_node x = eg__node_input(graph, &n, 0);
    unsigned axis = n.attributes.pad.axis;
    eg__backward_give(
        backward, x,
        eg_slice(graph, d, axis, n.attributes.pad.before, eg__node_at(graph, x)->shape[axis]));
}

static void evaluate_pad(const eg_graph *graph, const eg__node *node, const double *const *in,
                         double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned axis = node->attributes.pad.axis;
    uint64_t outer, inner, before = node->attributes.pad.before;
    split_at(node, axis, &outer, &inner);
    for (uint64_t i = 0; i < eg__node_elements(node); i++) out[i] = node->attributes.pad.value;
    for (uint64_t o = 0; o < outer; o++)
        memcpy(out + (o * node->shape[axis] + before) * inner, in[0] + o * x->shape[axis] * inner,
               x->shape[axis] * inner * sizeof *out);
}

static void lower_pad(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t input = eg__lower_input(l, id, 0);
    eg__view x = eg__lower_value(l, input), home = eg__lower_storage(l, id, 0);
    eg__matrix rows;
    if (!l->status && !eg__view_rows(node, &home, &rows)) home = eg__lower_plain_storage(l, id);
    eg__lower_fill(l, l->region[id], id, node, (float)node->attributes.pad.value, &home);
    const eg__view part =
        eg__view_part(&home, node->attributes.pad.axis, node->attributes.pad.before);
    eg__lower_copy(l, l->region[id], id, eg__lower_node(l, input), &x, &part);
}

/* Other axes than its own stay what they are. */
static int time_slice(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)input;
    return (int)node->attributes.slice.axis != axis ? axis : EG__TIME_MIXED;
}

static bool keeps_slice(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)graph, (void)items;
    return node->attributes.slice.axis != 0;
}

static eg_node lift_slice(eg_graph *graph, const eg__node *node, eg_node *in,
                          const uint64_t *shape) {
    const eg__slice_attributes *of = &node->attributes.slice;
    (void)shape;
    return eg_slice(graph, in[0], of->axis + 1, of->start, of->size);
}

/* Other axes than its own stay what they are. */
static int time_pad(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)input;
    return (int)node->attributes.pad.axis != axis ? axis : EG__TIME_MIXED;
}

static bool keeps_pad(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)graph, (void)items;
    return node->attributes.pad.axis != 0;
}

static eg_node lift_pad(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    const eg__pad_attributes *of = &node->attributes.pad;
    (void)shape;
    return eg_pad(graph, in[0], of->axis + 1, of->before, of->after, of->value);
}

const eg__op eg__op_slice = {.name = "slice",
                             .moves = true,
                             .infer = infer_slice,
                             .reads = eg__reads_picked,
                             .gradient = gradient_slice,
                             .evaluate = evaluate_slice,
                             .view = view_slice,
                             .time = time_slice,
                             .keeps_items = keeps_slice,
                             .lifts = eg__lifts_always,
                             .lift = lift_slice};
const eg__op eg__op_pad = {.name = "pad",
                           .infer = infer_pad,
                           .gradient = gradient_pad,
                           .evaluate = evaluate_pad,
                           .lower = lower_pad,
                           .time = time_pad,
                           .keeps_items = keeps_pad,
                           .lifts = eg__lifts_always,
                           .lift = lift_pad};
