/* Reverse mode: the gradient of a graph is more graph. */
#include "base/abi.h"
#include "graph/passes/order.h"
#include "graph/autodiff/recompute.h"

/* A segment of a scan: all its steps or, with checkpoints, the steps between two of them, which are
 * recomputed. */
typedef struct part {
    eg_node forward; /* the scan that computes these steps */
    /* node of the original scan -> node of `forward`; NULL = `forward` is the original scan */
    eg_node *clone;
    uint64_t start, length;
} part;

/* One pass over the nodes outside, or over the body of one scan. */
struct eg__backward {
    eg_graph *graph;
    const eg_gradient_options *options;
    const unsigned char *wants; /* per forward node: a gradient is needed for it or through it */
    uint32_t limit;             /* number of forward nodes; later nodes belong to the gradient */
    eg_node *d;                 /* per forward node: its gradient so far, or {0} */
    eg__recompute *recompute;   /* outside of scans */
    eg_node now;                /* outside of scans: the gradient being propagated */
    /* inside a scan: */
    eg_node scan, reverse; /* {0} outside */
    const part *part;
    eg_node *value; /* per forward node: its value inside the reversed body */
};

eg_graph *eg__backward_graph(const eg__backward *backward) { return backward->graph; }

bool eg__backward_wants(const eg__backward *backward, eg_node node) {
    return node.id <= backward->limit && backward->wants[node.id];
}

/* d summed over the axes along which a node of the shape of `to` was broadcast. */
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

/* Products and expensive functions are kept from the forward pass; other elementwise values are
 * recomputed, which is cheaper than writing them to memory and reading them back. */
static bool is_kept(const eg__node *node) {
    const eg__op *op = eg__op_row(node->op);
    return op->is_kept && op->is_kept(node);
}

/* The slice of a sequence that the steps of this segment read. */
static eg_node steps_of(eg_graph *graph, const part *p, eg_node sequence) {
    return p->clone ? eg_slice(graph, sequence, 0, p->start, p->length) : sequence;
}

eg_node eg__backward_value(eg__backward *backward, eg_node node) {
    eg_graph *graph = backward->graph;
    if (!backward->scan.id) return eg__recompute_value(backward->recompute, node, backward->now);
    if (!node.id || eg__node_at(graph, node)->scan != backward->scan.id) return node;
    if (backward->value[node.id].id) return backward->value[node.id];
    const eg__node n = *eg__node_at(graph, node);
    eg_node stand_in;
    const part *p = backward->part;
    if (n.op == EG__GRAPH_step)
        stand_in = eg_scan_step(graph, backward->reverse,
                                steps_of(graph, p, eg__node_input(graph, &n, 1)));
    else if (is_kept(&n))
        stand_in =
            eg_scan_step(graph, backward->reverse,
                         eg_scan_stack(graph, p->forward, p->clone ? p->clone[node.id] : node));
    else {
        enum { MANY = 64 };
        eg_node inputs[MANY];
        if (n.input_count > MANY)
            return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                     "the gradient of %s with %u inputs inside a scan is not "
                                     "supported",
                                     eg__node_operation(&n), n.input_count);
        for (unsigned i = 0; i < n.input_count; i++)
            inputs[i] = eg__backward_value(backward, eg__node_input(graph, &n, i));
        stand_in = eg__graph_add(graph, n.op, n.kind, n.input_count, inputs, &n.attributes, &n);
    }
    return backward->value[node.id] = stand_in;
}

eg_node eg__backward_unary(eg__backward *backward, unsigned kind, eg_node x) {
    eg_graph *graph = backward->graph;
    const part *p = backward->part;
    if (!x.id || !backward->scan.id || eg__node_at(graph, x)->scan != backward->scan.id)
        return eg__graph_add1(graph, EG__GRAPH_unary, kind, eg__backward_value(backward, x), NULL);
    eg_node y = eg__graph_add1(graph, EG__GRAPH_unary, kind, p->clone ? p->clone[x.id] : x, NULL);
    return eg_scan_step(graph, backward->reverse, eg_scan_stack(graph, p->forward, y));
}

static eg_node zeros_like(eg_graph *graph, eg_node node) {
    const eg__node n = *eg__node_at(graph, node);
    return eg_broadcast(graph, eg_scalar(graph, 0), n.rank, n.shape);
}

/* ---- the reverse of a scan: a scan the other way, whose carries are the gradients of the carries */

/* Gradients of the scan's stacks and totals enter the reversed body. */
static void enter(eg__backward *outer, eg__backward *inner) {
    eg_graph *graph = outer->graph;
    for (uint32_t i = 1; i <= outer->limit; i++) {
        const eg__node n = graph->nodes[i];
        if (n.op != EG__GRAPH_stack && n.op != EG__GRAPH_total) continue;
        if (eg__node_input(graph, &n, 0).id != inner->scan.id || !outer->d[i].id) continue;
        eg_node d = outer->d[i];
        if (n.op == EG__GRAPH_stack && n.attributes.stack.every)
            d = eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                  "a stack of every %lld steps has no gradient",
                                  (long long)n.attributes.stack.every);
        else if (n.op == EG__GRAPH_stack)
            d = eg_scan_step(graph, inner->reverse, steps_of(graph, inner->part, d));
        eg__backward_give(inner, eg__node_input(graph, &n, 1), d);
    }
}

/* The gradient of the loss with respect to a carry after the last step. */
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

/* Everything that the reverse of a scan needs, per forward node. */
typedef struct scratch {
    eg_node *d, *value, *clone;
    eg_node *carried;     /* carries of the reversed scan */
    eg_node *after;       /* gradient of a carry at the end of the next segment to reverse */
    eg_node *sequence;    /* gradient of a sequence, for the segments reversed so far */
    eg_node *checkpoints; /* of a carry: its values at the ends of segments */
} scratch;
enum { SCRATCH_ARRAYS = 7 };

static scratch scratch_at(eg_node *room, size_t nodes) {
    return (scratch){room,
                     room + nodes,
                     room + 2 * nodes,
                     room + 3 * nodes,
                     room + 4 * nodes,
                     room + 5 * nodes,
                     room + 6 * nodes};
}

static bool is_wanted_carry(const eg__backward *outer, uint32_t scan, uint32_t id) {
    const eg__node *n = &outer->graph->nodes[id];
    return n->scan == scan && n->op == EG__GRAPH_carry && outer->wants[id];
}

/* Reverses one segment: turns the gradients of the carries at its end into those at its start. */
static void reverse_part(eg__backward *outer, uint32_t scan, const scratch *s, const part *p) {
    eg_graph *graph = outer->graph;
    const eg__node forward = graph->nodes[scan];
    eg__backward inner = {.graph = graph,
                          .wants = outer->wants,
                          .limit = outer->limit,
                          .d = s->d,
                          .scan = {scan},
                          .part = p,
                          .value = s->value};
    for (uint32_t i = 0; i <= outer->limit; i++) s->d[i] = s->value[i] = (eg_node){0};
    inner.reverse = eg_scan(graph, p->length, !forward.attributes.scan.reverse);
    if (inner.reverse.id)
        eg__node_at(graph, inner.reverse)->attributes.scan.first =
            forward.attributes.scan.first + p->start;
    for (uint32_t i = 1; i <= outer->limit; i++) {
        if (!is_wanted_carry(outer, scan, i)) continue;
        s->carried[i] = eg_scan_carry(graph, inner.reverse, s->after[i]);
        eg__backward_give(&inner, (eg_node){graph->nodes[i].next}, s->carried[i]);
    }
    enter(outer, &inner);
    for (uint32_t i = outer->limit; i > 0 && !graph->mistake.status; i--) {
        const eg__node n = graph->nodes[i];
        if (n.scan != scan || !inner.d[i].id || !eg__op_row(n.op)->gradient) continue;
        eg__op_row(n.op)->gradient(&inner, (eg_node){i}, inner.d[i]);
    }
    for (uint32_t i = 1; i <= outer->limit && !graph->mistake.status; i++) {
        const eg__node n = graph->nodes[i];
        const eg_node d = inner.d[i];
        if (is_wanted_carry(outer, scan, i)) {
            eg_scan_update(graph, s->carried[i], d.id ? d : zeros_like(graph, (eg_node){i}));
            s->after[i] = eg_scan_last(graph, s->carried[i]);
        } else if (n.scan == scan && n.op == EG__GRAPH_step && d.id) {
            eg_node more = eg_scan_stack(graph, inner.reverse, d), old = s->sequence[i];
            eg_node both[] = {more, old};
            if (forward.attributes.scan.reverse) both[0] = old, both[1] = more;
            s->sequence[i] = old.id ? eg_concat(graph, 0, 2, both) : more;
        } else if (!n.scan && d.id) /* from outside: all steps add up */
            eg__backward_give(outer, (eg_node){i}, eg_scan_sum(graph, inner.reverse, d));
    }
}

/* ---- checkpoints: segments of the scan are recomputed from the carries at their start */
static void clone_part(eg__backward *outer, uint32_t scan, const scratch *s, part *p,
                       uint64_t index) {
    eg_graph *graph = outer->graph;
    const eg__node forward = graph->nodes[scan];
    p->clone = s->clone;
    p->forward = eg_scan(graph, p->length, forward.attributes.scan.reverse);
    if (!p->forward.id) return;
    eg__node_at(graph, p->forward)->attributes.scan.first =
        forward.attributes.scan.first + p->start;
    for (uint32_t i = 1; i <= outer->limit && !graph->mistake.status; i++) {
        const eg__node n = graph->nodes[i];
        if (n.scan != scan) continue;
        if (n.op == EG__GRAPH_carry) {
            eg_node from = eg__node_input(graph, &n, 1);
            if (index)
                from = eg_reshape(graph, eg_slice(graph, s->checkpoints[i], 0, index - 1, 1),
                                  n.rank, n.shape);
            s->clone[i] = eg_scan_carry(graph, p->forward, from);
        } else if (n.op == EG__GRAPH_step)
            s->clone[i] =
                eg_scan_step(graph, p->forward, steps_of(graph, p, eg__node_input(graph, &n, 1)));
        else {
            enum { MANY = 64 };
            eg_node inputs[MANY];
            if (n.input_count > MANY) {
                eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                  "the gradient of %s with %u inputs inside a scan is not "
                                  "supported",
                                  eg__node_operation(&n), n.input_count);
                return;
            }
            for (unsigned k = 0; k < n.input_count; k++) {
                const eg_node input = eg__node_input(graph, &n, k);
                inputs[k] = eg__node_at(graph, input)->scan == scan ? s->clone[input.id] : input;
            }
            s->clone[i] =
                eg__graph_add(graph, n.op, n.kind, n.input_count, inputs, &n.attributes, &n);
        }
    }
    for (uint32_t i = 1; i <= outer->limit && !graph->mistake.status; i++) {
        const eg__node n = graph->nodes[i];
        if (n.scan != scan || n.op != EG__GRAPH_carry) continue;
        const bool inside = graph->nodes[n.next].scan == scan;
        eg_scan_update(graph, s->clone[i], inside ? s->clone[n.next] : (eg_node){n.next});
    }
}

/* Bytes that one step keeps for the backward pass, and how many of them are carries. */
static void kept_bytes(const eg__backward *outer, uint32_t scan, double *step, double *carries) {
    *step = *carries = 0;
    for (uint32_t i = 1; i <= outer->limit; i++) {
        const eg__node *n = &outer->graph->nodes[i];
        const double bytes = (double)eg_type_bits(n->type) / 8 * (double)eg__node_elements(n);
        if (n->scan != scan || !is_kept(n)) continue;
        /* the gradient of a product is stacked, too */
        *step += n->op == EG__GRAPH_matmul ? 2 * bytes : bytes;
        if (n->op == EG__GRAPH_carry) *carries += bytes;
    }
}

/* Steps per segment; the scan's length = no checkpoints. */
static uint64_t part_length(eg__backward *outer, uint32_t scan) {
    const uint64_t length = outer->graph->nodes[scan].attributes.scan.length;
    const eg_gradient_options *options = outer->options;
    if (!options) return length;
    if (options->every) return options->every < length ? options->every : length;
    if (!options->memory) return length;
    double step, carries, budget = (double)options->memory;
    kept_bytes(outer, scan, &step, &carries);
    if ((double)length * step <= budget) return length;
    for (uint64_t every = length; every > 1; every = every * 7 / 8) {
        const double parts = (double)((length + every - 1) / every);
        if (parts * carries + (double)every * step <= budget) return every;
    }
    eg__graph_mistake(outer->graph, EG_ERR_BUDGET,
                      "a scan of %llu steps cannot be checkpointed within %llu bytes: "
                      "give more memory",
                      (unsigned long long)length, (unsigned long long)options->memory);
    return length;
}

/* ---- a whole scan */
static void reverse_scan(eg__backward *outer, uint32_t scan, eg_node *room) {
    eg_graph *graph = outer->graph;
    const eg__node forward = graph->nodes[scan];
    const uint64_t length = forward.attributes.scan.length;
    const uint64_t every = part_length(outer, scan);
    const scratch s = scratch_at(room, outer->limit + 1);
    for (uint32_t i = 1; i <= outer->limit; i++) {
        s.sequence[i] = s.carried[i] = (eg_node){0};
        if (every < length && graph->nodes[i].scan == scan && graph->nodes[i].op == EG__GRAPH_carry)
            s.checkpoints[i] = eg__scan_stack_every(graph, (eg_node){scan},
                                                    (eg_node){graph->nodes[i].next}, every);
        if (!is_wanted_carry(outer, scan, i)) continue;
        s.after[i] = last_of(graph, outer->limit, i, outer->d);
        if (!s.after[i].id) s.after[i] = zeros_like(graph, (eg_node){i});
    }
    for (uint64_t index = (length + every - 1) / every; index-- > 0 && !graph->mistake.status;) {
        const uint64_t first = index * every, end = first + every < length ? first + every : length;
        part p = {.forward = {scan}, .length = end - first};
        p.start = forward.attributes.scan.reverse ? length - end : first;
        if (every < length) clone_part(outer, scan, &s, &p, index);
        reverse_part(outer, scan, &s, &p);
    }
    for (uint32_t i = 1; i <= outer->limit && !graph->mistake.status; i++) {
        const eg__node n = graph->nodes[i];
        if (is_wanted_carry(outer, scan, i))
            eg__backward_give(outer, eg__node_input(graph, &n, 1), s.after[i]);
        else if (n.scan == scan && n.op == EG__GRAPH_step && s.sequence[i].id)
            eg__backward_give(outer, eg__node_input(graph, &n, 1), s.sequence[i]);
    }
}

/* ---- outside */

/* A node needs a gradient when it depends on one of the nodes whose gradient was asked for. */
static void spread_wants(const eg_graph *graph, unsigned char *wants) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i <= graph->size; i++) {
            const eg__node *n = &graph->nodes[i];
            unsigned char any = wants[i] || (n->op == EG__GRAPH_carry && wants[n->next]);
            for (unsigned k = 0; k < n->input_count; k++)
                any |= wants[eg__node_input(graph, n, k).id];
            if (n->type != EG_F32 && !eg__is_half(n->type)) any = 0;
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
        backward->now = backward->d[id];
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
        return eg__fail(error, EG_ERR_ARGUMENT, "gradient: no output pointer for the result");
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
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "gradient: node %u is not an f32 value outside of scans", wrt[i].id);
    return EG_OK;
}

eg_status eg_gradient(eg_graph *graph, eg_node loss, size_t count, const eg_node *wrt, eg_node *out,
                      eg_error *error) {
    return eg_gradient_with(graph, NULL, loss, count, wrt, out, error);
}

eg_status eg_gradient_with(eg_graph *graph, const eg_gradient_options *given, eg_node loss,
                           size_t count, const eg_node *wrt, eg_node *out, eg_error *error) {
    eg_gradient_options kept, *const options = &kept;
    eg_status status = check(graph, loss, count, wrt, out, error);
    if (!status) status = EG__OPTIONS(eg_gradient_options, &kept, given, error);
    if (status) return status;
    const size_t nodes = graph->size + 1;
    uint32_t *order;
    size_t size;
    status = eg__graph_order(graph, 1, &loss, &order, &size, error);
    if (status) return status;
    eg__recompute recompute;
    status = eg__recompute_open(&recompute, graph, options, order, size, error);
    if (status) {
        eg__memory_give(graph->memory, order);
        return status;
    }
    eg_error reason = {EG_ERR_MEMORY, ""};
    unsigned char *wants = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    eg_node *room = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, (1 + SCRATCH_ARRAYS) * nodes,
                                          sizeof *room, &reason);
    if (wants && room) {
        for (size_t i = 0; i < count; i++) wants[wrt[i].id] = 1;
        spread_wants(graph, wants);
        eg__backward backward = {.graph = graph,
                                 .options = options,
                                 .wants = wants,
                                 .limit = graph->size,
                                 .d = room,
                                 .recompute = &recompute};
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
    eg__recompute_close(&recompute);
    eg__memory_give(graph->memory, room);
    eg__memory_give(graph->memory, wants);
    eg__memory_give(graph->memory, order);
    return status;
}
