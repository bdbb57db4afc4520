/* Values inside a scan, as values outside of it. */
#include "graph/passes/lift.h"

#include <string.h>

/* What carries need, and what needs carries; both are known after going through once, each way. */
static void mark(eg__lift *l) {
    const eg__rewrite *r = l->r;
    for (uint32_t i = 1; i <= r->from->size; i++) {
        const eg__node *node = eg__old(r, i);
        if (!r->live[i]) continue;
        l->late[i] = node->op == EG__GRAPH_carry;
        for (unsigned k = 0; k < node->input_count; k++) {
            const uint32_t input = eg__old_input(r, i, k);
            if (node->scan && eg__old(r, input)->scan == node->scan) l->late[i] |= l->late[input];
        }
        if (node->op == EG__GRAPH_carry && node->next) l->needed[node->next] = 1;
    }
    for (uint32_t i = r->from->size; i > 0; i--) {
        const eg__node *node = eg__old(r, i);
        for (unsigned k = 0; r->live[i] && l->needed[i] && k < node->input_count; k++)
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
    for (unsigned i = 0; i < node->input_count; i++) /* time needs an axis */
        if (eg__old(lift->r, eg__old_input(lift->r, id, i))->rank == EG_RANK_MAX) return false;
    switch (node->op) {
    case EG__GRAPH_reshape:
    case EG__GRAPH_transpose:
    case EG__GRAPH_slice:
    case EG__GRAPH_concat:
    case EG__GRAPH_broadcast:
    case EG__GRAPH_pad:
    case EG__GRAPH_unary:
    case EG__GRAPH_binary:
    case EG__GRAPH_select:
    case EG__GRAPH_reduce:
    case EG__GRAPH_softmax:
    case EG__GRAPH_norm: return node->rank < EG_RANK_MAX;
    case EG__GRAPH_synapses:
    case EG__GRAPH_synapses_dv: /* parameters are the same in all steps */
        for (unsigned i = 1; i < 7; i++)
            if (eg__old(lift->r, eg__old_input(lift->r, id, i))->scan) return false;
        return node->rank < EG_RANK_MAX;
    case EG__GRAPH_conv: /* the samples of all steps meet the same filters */
        return node->rank < EG_RANK_MAX && !eg__old(lift->r, eg__old_input(lift->r, id, 1))->scan;
    case EG__GRAPH_matmul: /* rows of all steps meet one right side */
        return node->rank < EG_RANK_MAX && !node->attributes.matmul.a_transposed &&
               !eg__old(lift->r, eg__old_input(lift->r, id, 1))->scan;
    default: return false;
    }
}

/* [T, ..] with axes of one element after time, so that it broadcasts as it did without time. */
static eg_node widen(eg_graph *g, eg_node x, unsigned rank) {
    const eg__node n = *eg__node_at(g, x);
    if (n.rank >= rank) return x;
    uint64_t shape[EG_RANK_MAX] = {n.shape[0]};
    const unsigned extra = rank - n.rank;
    for (unsigned i = 1; i < rank; i++) shape[i] = i <= extra ? 1 : n.shape[i - extra];
    return eg_reshape(g, x, rank, shape);
}

/* [T, B, ..] as [T B, ..], and back. */
static eg_node build_conv(eg_graph *g, const eg__node *node, eg_node *in, const uint64_t *shape) {
    const eg__node x = *eg__node_at(g, in[0]);
    uint64_t samples[EG_RANK_MAX] = {x.shape[0] * x.shape[1]};
    for (unsigned i = 1; i + 1 < x.rank; i++) samples[i] = x.shape[i + 1];
    in[0] = eg_reshape(g, in[0], x.rank - 1, samples);
    const eg_node y = eg__graph_add(g, node->op, node->kind, 2, in, &node->attributes, NULL);
    return eg_reshape(g, y, node->rank + 1, shape);
}

static eg_node build(eg__lift *l, uint32_t id, eg_node *in) {
    eg_graph *g = l->r->to;
    const eg__node *node = eg__old(l->r, id);
    eg__attributes attributes = node->attributes;
    uint64_t shape[EG_RANK_MAX] = {eg__old(l->r, node->scan)->attributes.scan.length};
    for (unsigned i = 0; i < node->rank && i + 1 < EG_RANK_MAX; i++) shape[i + 1] = node->shape[i];
    for (unsigned i = 0; i < node->input_count; i++)
        if (eg__old(l->r, eg__old_input(l->r, id, i))->scan && node->op != EG__GRAPH_reshape &&
            node->op != EG__GRAPH_reduce)
            in[i] = widen(g, in[i], node->rank + 1);
    switch (node->op) {
    case EG__GRAPH_reshape: return eg_reshape(g, in[0], node->rank + 1, shape);
    case EG__GRAPH_broadcast: return eg_broadcast(g, in[0], node->rank + 1, shape);
    case EG__GRAPH_conv: return build_conv(g, node, in, shape);
    case EG__GRAPH_transpose:
        attributes.transpose.order[0] = 0;
        for (unsigned i = 0; i < node->rank; i++)
            attributes.transpose.order[i + 1] = node->attributes.transpose.order[i] + 1;
        break;
    case EG__GRAPH_slice: attributes.slice.axis++; break;
    case EG__GRAPH_concat: attributes.concat.axis++; break;
    case EG__GRAPH_pad: attributes.pad.axis++; break;
    case EG__GRAPH_reduce: attributes.reduce.axes <<= 1; break;
    default: break;
    }
    return eg__graph_add(g, node->op, node->kind, node->input_count, in, &attributes, NULL);
}

/* A part of a concat that does not change in time is repeated. */
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
