/* Values inside a scan, as values outside of it. */
#include "graph/passes/lift.h"

#include <string.h>

/* Which values the carries depend on (one backward walk) and which depend on carries (one forward
 * walk). */
static void mark(eg__lift *l) {
    const eg__rewrite *r = l->r;
    for (uint32_t i = 1; i <= r->from->size; i++) {
        const eg__node *node = eg__old(r, i);
        if (!r->reachable[i]) continue;
        l->late[i] = node->op == EG__GRAPH_carry;
        l->quantized |= eg__is_quantized_leaf(node);
        for (unsigned k = 0; k < node->input_count; k++) {
            const uint32_t input = eg__old_input(r, i, k);
            if (node->scan && eg__old(r, input)->scan == node->scan) l->late[i] |= l->late[input];
        }
        if (node->op == EG__GRAPH_carry && node->next) l->needed[node->next] = 1;
    }
    for (uint32_t i = r->from->size; i > 0; i--) {
        const eg__node *node = eg__old(r, i);
        for (unsigned k = 0; r->reachable[i] && l->needed[i] && k < node->input_count; k++)
            l->needed[eg__old_input(r, i, k)] = 1;
    }
}

bool eg__lift_open(eg__rewrite *r) {
    eg__lift *lift = r->user;
    const size_t nodes = r->from->size + 1;
    eg__memory *memory = r->from->memory;
    *lift = (eg__lift){.r = r};
    lift->lifted = eg__memory_take_array(memory, EG_TAG_GRAPH, nodes, sizeof *lift->lifted, NULL);
    lift->late = eg__memory_take_array(memory, EG_TAG_GRAPH, nodes, 1, NULL);
    lift->needed = eg__memory_take_array(memory, EG_TAG_GRAPH, nodes, 1, NULL);
    if (lift->lifted && lift->late && lift->needed) {
        mark(lift);
        return true;
    }
    eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory to look at %zu nodes", nodes);
    return false;
}

void eg__lift_close(eg__rewrite *r) {
    eg__lift *lift = r->user;
    eg__memory *memory = r->from->memory;
    eg__memory_give(memory, lift->lifted);
    eg__memory_give(memory, lift->late);
    eg__memory_give(memory, lift->needed);
}

bool eg__lift_can(const eg__lift *lift, uint32_t id) {
    const eg__node *node = eg__old(lift->r, id);
    for (unsigned i = 0; i < node->input_count; i++) /* no room for a time axis */
        if (eg__old(lift->r, eg__old_input(lift->r, id, i))->rank == EG_RANK_MAX) return false;
    const eg__op *op = eg__op_row(node->op);
    return node->rank < EG_RANK_MAX && op->lifts && op->lifts(lift->r->from, node);
}

/* Inserts axes of extent 1 after time, so that [T, ..] broadcasts as it did without time. */
static eg_node widen(eg_graph *g, eg_node x, unsigned rank) {
    const eg__node n = *eg__node_at(g, x);
    if (n.rank >= rank) return x;
    uint64_t shape[EG_RANK_MAX] = {n.shape[0]};
    const unsigned extra = rank - n.rank;
    for (unsigned i = 1; i < rank; i++) shape[i] = i <= extra ? 1 : n.shape[i - extra];
    return eg_reshape(g, x, rank, shape);
}

static eg_node build(eg__lift *l, uint32_t id, eg_node *in) {
    eg_graph *g = l->r->to;
    const eg__node *node = eg__old(l->r, id);
    const eg__op *op = eg__op_row(node->op);
    uint64_t shape[EG_RANK_MAX] = {eg__old(l->r, node->scan)->attributes.scan.length};
    for (unsigned i = 0; i < node->rank && i + 1 < EG_RANK_MAX; i++) shape[i + 1] = node->shape[i];
    for (unsigned i = 0; i < node->input_count && !op->lifts_any_rank; i++)
        if (eg__old(l->r, eg__old_input(l->r, id, i))->scan)
            in[i] = widen(g, in[i], node->rank + 1);
    if (op->lift) return op->lift(g, node, in, shape);
    return eg__graph_add(g, node->op, node->kind, node->input_count, in, &node->attributes, NULL);
}

/* Inputs of a concat that do not change in time are repeated for all steps. */
static eg_node repeat(eg__lift *l, uint32_t id, eg_node x) {
    eg_graph *g = l->r->to;
    const eg__node n = *eg__node_at(g, x);
    uint64_t shape[EG_RANK_MAX] = {eg__old(l->r, eg__old(l->r, id)->scan)->attributes.scan.length};
    for (unsigned i = 0; i < n.rank; i++) shape[i + 1] = n.shape[i];
    return eg_broadcast(g, x, n.rank + 1, shape);
}

eg_node eg__lift_node(eg__lift *l, uint32_t id) {
    enum { MANY = 64 };
    const eg__rewrite *r = l->r;
    const eg__node *node = eg__old(r, id);
    if (!node->scan) return r->map[id];
    if (l->lifted[id].id) return l->lifted[id];
    eg_node in[MANY], result;
    if (node->op == EG__GRAPH_step) result = r->map[eg__old_input(r, id, 1)];
    else if (l->needed[id] || !eg__lift_can(l, id) || node->input_count > MANY) {
        if (!l->late[id] && eg__lift_can(l, id) && node->input_count <= MANY) goto outside;
        result = eg_scan_stack(r->to, r->map[node->scan], r->map[id]);
    } else {
outside:
        for (unsigned i = 0; i < node->input_count; i++) {
            const uint32_t input = eg__old_input(r, id, i);
            in[i] = eg__lift_node(l, input);
            if (node->op == EG__GRAPH_concat && !eg__old(r, input)->scan)
                in[i] = repeat(l, id, in[i]);
        }
        result = build(l, id, in);
    }
    return l->lifted[id] = result;
}
