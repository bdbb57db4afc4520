/* Reverse mode: the gradient of a graph is more graph. */
#include "graph/order.h"

/* One pass over the nodes outside, or over the body of one scan. */
struct eg__backward {
    eg_graph *graph;
    const unsigned char *wants; /* per forward node: something asked for depends on it */
    uint32_t limit;             /* forward nodes; what comes after them is gradient */
    eg_node *d;                 /* per forward node: its gradient so far, or {0} */
    /* inside a scan: */
    eg_node scan, reverse; /* {0} outside */
    eg_node *value;        /* stand-ins of forward values in the reversed body */
};

eg_graph *eg__backward_graph(const eg__backward *backward) { return backward->graph; }

bool eg__backward_wants(const eg__backward *backward, eg_node node) {
    return node.id <= backward->limit && backward->wants[node.id];
}

/* d summed over the axes along which a node of that shape was repeated. */
static eg_node shrink(eg_graph *graph, eg_node d, const eg__node *to) {
    if (!d.id || eg__same_shape(eg__node_at(graph, d), to)) return d;
    const eg__node from = *eg__node_at(graph, d);
    unsigned axes = 0, lead = from.rank - to->rank;
    for (unsigned i = 0; i < from.rank; i++)
        if (i < lead || (to->shape[i - lead] == 1 && from.shape[i] != 1)) axes |= 1u << i;
    return eg_reshape(graph, eg_sum(graph, d, axes, 0), to->rank, to->shape);
}

void eg__backward_give(eg__backward *backward, eg_node node, eg_node d) {
    if (!eg__backward_wants(backward, node)) return;
    eg_graph *graph = backward->graph;
    const eg__node to = *eg__node_at(graph, node);
    d = shrink(graph, d, &to);
    eg_node *sum = &backward->d[node.id];
    *sum = sum->id ? eg_add(graph, *sum, d) : d;
}

/* Products are kept from the forward pass; what is elementwise is computed again, which is cheaper
 * than writing it to memory and reading it back. */
static bool is_kept(const eg__node *node) {
    switch (node->op) {
    case EG__GRAPH_carry:
    case EG__GRAPH_matmul:
    case EG__GRAPH_softmax:
    case EG__GRAPH_norm:
    case EG__GRAPH_reduce:
    case EG__GRAPH_scatter: return true;
    default: return false;
    }
}

eg_node eg__backward_value(eg__backward *backward, eg_node node) {
    eg_graph *graph = backward->graph;
    if (!node.id || !backward->scan.id || eg__node_at(graph, node)->scan != backward->scan.id)
        return node;
    if (backward->value[node.id].id) return backward->value[node.id];
    const eg__node n = *eg__node_at(graph, node);
    eg_node stand_in;
    if (n.op == EG__GRAPH_step)
        stand_in = eg_scan_step(graph, backward->reverse, eg__node_input(graph, &n, 1));
    else if (is_kept(&n))
        stand_in =
            eg_scan_step(graph, backward->reverse, eg_scan_stack(graph, backward->scan, node));
    else {
        enum { MANY = 64 };
        eg_node inputs[MANY];
        if (n.input_count > MANY)
            return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED, "%s of %u inputs inside a scan",
                                     eg__node_operation(&n), n.input_count);
        for (unsigned i = 0; i < n.input_count; i++)
            inputs[i] = eg__backward_value(backward, eg__node_input(graph, &n, i));
        stand_in = eg__graph_add(graph, n.op, n.kind, n.input_count, inputs, &n.attributes, &n);
    }
    return backward->value[node.id] = stand_in;
}

static eg_node zeros_like(eg_graph *graph, eg_node node) {
    const eg__node n = *eg__node_at(graph, node);
    return eg_broadcast(graph, eg_scalar(graph, 0), n.rank, n.shape);
}

/* ---- the reverse of a scan: a scan the other way, whose carries are the gradients of the carries */

/* What the outputs of the scan hand to values inside, and the carry of each gradient. */
static void enter(eg__backward *outer, eg__backward *inner) {
    eg_graph *graph = outer->graph;
    for (uint32_t i = 1; i <= outer->limit; i++) {
        const eg__node n = graph->nodes[i];
        if (n.op != EG__GRAPH_stack && n.op != EG__GRAPH_total) continue;
        if (eg__node_input(graph, &n, 0).id != inner->scan.id || !outer->d[i].id) continue;
        eg_node d = outer->d[i];
        if (n.op == EG__GRAPH_stack) d = eg_scan_step(graph, inner->reverse, d);
        eg__backward_give(inner, eg__node_input(graph, &n, 1), d);
    }
}

/* What the loss says of a carry after the last step. */
static eg_node last_of(eg_graph *graph, uint32_t limit, uint32_t carry, const eg_node *d) {
    eg_node sum = {0};
    for (uint32_t i = 1; i <= limit; i++) {
        const eg__node *n = &graph->nodes[i];
        if (n->op != EG__GRAPH_last || !d[i].id) continue;
        if (eg__node_input(graph, n, 1).id != carry) continue;
        sum = sum.id ? eg_add(graph, sum, d[i]) : d[i];
    }
    return sum;
}

/* d of a carry after the step becomes d of its value before the step. */
static void reverse_scan(eg__backward *outer, uint32_t scan, eg_node *room) {
    eg_graph *graph = outer->graph;
    const eg__node s = graph->nodes[scan];
    eg__backward inner = {.graph = graph,
                          .wants = outer->wants,
                          .limit = outer->limit,
                          .d = room,
                          .scan = {scan},
                          .value = room + outer->limit + 1};
    for (uint32_t i = 0; i < 2 * (outer->limit + 1); i++) room[i] = (eg_node){0};
    inner.reverse = eg_scan(graph, (uint64_t)s.attributes.index[0], !s.attributes.index[1]);
    eg_node *carried = room + 2 * (outer->limit + 1);
    for (uint32_t i = 1; i <= outer->limit; i++) {
        carried[i] = (eg_node){0};
        const eg__node n = graph->nodes[i];
        if (n.scan != scan || n.op != EG__GRAPH_carry || !outer->wants[i]) continue;
        eg_node last = last_of(graph, outer->limit, i, outer->d);
        if (!last.id) last = zeros_like(graph, (eg_node){i});
        carried[i] = eg_scan_carry(graph, inner.reverse, last);
        eg__backward_give(&inner, (eg_node){n.next}, carried[i]);
    }
    enter(outer, &inner);
    for (uint32_t i = outer->limit; i > 0 && !graph->mistake.status; i--) {
        const eg__node n = graph->nodes[i];
        if (n.scan != scan || !inner.d[i].id || !eg__op_row(n.op)->gradient) continue;
        eg__op_row(n.op)->gradient(&inner, (eg_node){i}, inner.d[i]);
    }
    for (uint32_t i = 1; i <= outer->limit && !graph->mistake.status; i++) {
        const eg__node n = graph->nodes[i];
        eg_node d = inner.d[i];
        if (n.scan == scan && n.op == EG__GRAPH_carry && carried[i].id) {
            eg_scan_update(graph, carried[i], d.id ? d : zeros_like(graph, (eg_node){i}));
            eg__backward_give(outer, eg__node_input(graph, &n, 1), eg_scan_last(graph, carried[i]));
        } else if (n.scan == scan && n.op == EG__GRAPH_step && d.id)
            eg__backward_give(outer, eg__node_input(graph, &n, 1),
                              eg_scan_stack(graph, inner.reverse, d));
        else if (!n.scan && d.id) /* taken from outside: every step adds to it */
            eg__backward_give(outer, (eg_node){i}, eg_scan_sum(graph, inner.reverse, d));
    }
}

/* ---- outside */

/* A node wants a gradient when one of those asked for is among what it was computed from. */
static void spread_wants(const eg_graph *graph, unsigned char *wants) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i <= graph->size; i++) {
            const eg__node *n = &graph->nodes[i];
            unsigned char any = wants[i] || (n->op == EG__GRAPH_carry && wants[n->next]);
            for (unsigned k = 0; k < n->input_count; k++)
                any |= wants[eg__node_input(graph, n, k).id];
            if (n->op == EG__GRAPH_argmax || n->type != EG_F32) any = 0;
            changed |= any != wants[i];
            wants[i] = any;
        }
    }
}

static void reverse_outside(eg__backward *backward, const uint32_t *order, size_t size,
                            eg_node *room) {
    eg_graph *graph = backward->graph;
    for (size_t i = size; i-- > 0 && !graph->mistake.status;) {
        const uint32_t id = order[i];
        const eg__node n = graph->nodes[id];
        if (n.op == EG__GRAPH_scan) reverse_scan(backward, id, room);
        else if (backward->d[id].id && eg__op_row(n.op)->gradient)
            eg__op_row(n.op)->gradient(backward, (eg_node){id}, backward->d[id]);
    }
}

static eg_status check(eg_graph *graph, eg_node loss, size_t count, const eg_node *wrt,
                       const eg_node *out, eg_error *error) {
    eg_status status = eg_graph_check(graph, error);
    if (status) return status;
    if (count && (!wrt || !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "gradient: no place for the result");
    char text[160];
    if (!loss.id || loss.id > graph->size || eg__node_elements(eg__node_at(graph, loss)) != 1 ||
        eg__node_at(graph, loss)->scan || eg__node_at(graph, loss)->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "gradient: the loss is %s, not one f32 outside",
                        loss.id && loss.id <= graph->size
                            ? eg__shape_text(eg__node_at(graph, loss), text)
                            : "no node");
    for (size_t i = 0; i < count; i++)
        if (!wrt[i].id || wrt[i].id > graph->size || eg__node_at(graph, wrt[i])->scan ||
            eg__node_at(graph, wrt[i])->op == EG__GRAPH_scan ||
            eg__node_at(graph, wrt[i])->type != EG_F32)
            return eg__fail(error, EG_ERR_ARGUMENT, "gradient: node %u is no f32 outside of scans",
                            wrt[i].id);
    return EG_OK;
}

eg_status eg_gradient(eg_graph *graph, eg_node loss, size_t count, const eg_node *wrt, eg_node *out,
                      eg_error *error) {
    eg_status status = check(graph, loss, count, wrt, out, error);
    if (status) return status;
    const size_t nodes = graph->size + 1;
    uint32_t *order;
    size_t size;
    status = eg__graph_order(graph, 1, &loss, &order, &size, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    unsigned char *wants = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    eg_node *room =
        eg__memory_take_array(graph->memory, EG_TAG_GRAPH, 4 * nodes, sizeof *room, &reason);
    if (wants && room) {
        for (size_t i = 0; i < count; i++) wants[wrt[i].id] = 1;
        spread_wants(graph, wants);
        eg__backward backward = {.graph = graph, .wants = wants, .limit = graph->size, .d = room};
        const eg__node l = *eg__node_at(graph, loss);
        eg__backward_give(&backward, loss,
                          eg_broadcast(graph, eg_scalar(graph, 1), l.rank, l.shape));
        reverse_outside(&backward, order, size, room + nodes);
        for (size_t i = 0; i < count; i++) {
            eg_node d = room[wrt[i].id];
            room[wrt[i].id] = d.id ? d : zeros_like(graph, wrt[i]);
        }
        status = eg_graph_check(graph, error);
        for (size_t i = 0; !status && i < count; i++) out[i] = room[wrt[i].id];
    } else status = eg__fail(error, reason.status, "%s", reason.message);
    eg__memory_give(graph->memory, room);
    eg__memory_give(graph->memory, wants);
    eg__memory_give(graph->memory, order);
    return status;
}
