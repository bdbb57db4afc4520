/* Shapes that follow from others: the same, or broadcast as numpy has it. */
#include "graph/graph.h"

#include <string.h>

void eg__shape_copy(eg__node *to, const eg__node *from) {
    to->type = from->type;
    to->rank = from->rank;
    memcpy(to->shape, from->shape, sizeof to->shape);
}

eg_status eg__infer_like(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    eg__shape_copy(node, x);
    if (x->type == EG_F32) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'", eg_type_name(x->type));
}

double eg__flops_per_element(const eg_graph *graph, const eg__node *node) {
    (void)graph;
    return (double)eg__node_elements(node);
}

double eg__reads_picked(const eg_graph *graph, const eg__node *node, unsigned i) {
    return (double)eg__node_elements(i ? eg__node_at(graph, eg__node_input(graph, node, i)) : node);
}

eg_status eg__broadcast_shape(const eg__node *a, const eg__node *b, eg__node *out,
                              eg_error *error) {
    unsigned rank = a->rank > b->rank ? a->rank : b->rank;
    uint64_t shape[EG_RANK_MAX];
    for (unsigned i = 0; i < rank; i++) {
        uint64_t x = i + a->rank < rank ? 1 : a->shape[i + a->rank - rank];
        uint64_t y = i + b->rank < rank ? 1 : b->shape[i + b->rank - rank];
        if (x != y && x != 1 && y != 1) {
            char first[160], second[160];
            return eg__fail(error, EG_ERR_ARGUMENT, "shapes %s and %s do not broadcast",
                            eg__shape_text(a, first), eg__shape_text(b, second));
        }
        shape[i] = x == 1 ? y : x;
    }
    out->rank = rank;
    for (unsigned i = 0; i < rank; i++) out->shape[i] = shape[i];
    return EG_OK;
}

uint64_t eg__broadcast_index(const eg__node *out, const eg__node *in, uint64_t at) {
    uint64_t index = 0, stride = 1;
    for (unsigned i = 0; i < in->rank; i++) {
        uint64_t extent = out->shape[out->rank - 1 - i], mine = in->shape[in->rank - 1 - i];
        uint64_t here = at % extent;
        at /= extent;
        index += (mine == 1 ? 0 : here) * stride;
        stride *= mine;
    }
    return index;
}

bool eg__always_kept(const eg__node *node) {
    (void)node;
    return true;
}

/* ---- items of the first axis, inside of scans */
bool eg__has_items(const eg__node *node, uint64_t items) {
    return node->rank && node->shape[0] == items;
}

/* An input from inside the scan is read item by item only if its first axis is the first axis of
 * the result. */
bool eg__keeps_aligned(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)items;
    for (unsigned i = 0; i < node->input_count; i++) {
        const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, i));
        if (x->scan && x->op != EG__GRAPH_step && x->rank != node->rank) return false;
    }
    return true;
}

bool eg__keeps_rows(const eg_graph *graph, const eg__node *node, uint64_t items) {
    (void)items;
    return eg__node_at(graph, eg__node_input(graph, node, 0))->rank > 1;
}

bool eg__keeps_first_rows(const eg_graph *graph, const eg__node *node, uint64_t items) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    return eg__has_items(x, items) && x->scan && x->rank > 1;
}

bool eg__keeps_picked(const eg_graph *graph, const eg__node *node, uint64_t items) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    return !x->scan && eg__has_items(eg__node_at(graph, eg__node_input(graph, node, 1)), items);
}

/* ---- all steps of a scan at once */
bool eg__lifts_always(const eg_graph *graph, const eg__node *node) {
    (void)graph, (void)node;
    return true;
}

bool eg__lifts_first(const eg_graph *graph, const eg__node *node) {
    for (unsigned i = 1; i < node->input_count; i++)
        if (eg__node_at(graph, eg__node_input(graph, node, i))->scan) return false;
    return true;
}

/* ---- time as an axis */
int eg__time_aligned(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const eg__node *x = eg__node_at(clock->graph, eg__node_input(clock->graph, node, input));
    return axis + (int)node->rank - (int)x->rank;
}

int eg__time_rows(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const eg__node *x = eg__node_at(clock->graph, eg__node_input(clock->graph, node, input));
    return axis + 1 < (int)x->rank ? axis : EG__TIME_MIXED;
}

int eg__time_first_rows(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    return input == 0 ? eg__time_rows(clock, node, input, axis) : EG__TIME_MIXED;
}

int eg__time_picked(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    (void)clock, (void)node;
    return input == 1 ? axis : EG__TIME_MIXED;
}
