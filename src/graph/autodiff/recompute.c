/* Checkpoints outside of scans: of the nodes that lead to the checkpoints only these are kept; the
 * backward pass recomputes the others from the nearest checkpoint. */
#include "graph/autodiff/recompute.h"

/* What the backward pass reads: the node itself; a kept node, from which others may be recomputed;
 * a recomputed copy. */
enum { ITSELF, KEPT, AGAIN };
enum { MANY = 64 };

static unsigned char fate_of(const eg__node *node) {
    switch (node->op) {
    case EG__GRAPH_parameter:
    case EG__GRAPH_constant:
    case EG__GRAPH_scan: return ITSELF;
    case EG__GRAPH_input:
    case EG__GRAPH_state:
    case EG__GRAPH_update:
    case EG__GRAPH_stack:
    case EG__GRAPH_total:
    case EG__GRAPH_last: return KEPT;
    default: return node->input_count > MANY ? KEPT : AGAIN;
    }
}

/* Walks backwards and marks the nodes that lead to a kept node. Scans are not recomputed, nor are
 * their inputs, unless another marked node needs them. */
static void find_fates(eg__recompute *r, const eg_gradient_options *options, const uint32_t *order,
                       size_t size) {
    const eg_graph *graph = r->graph;
    for (size_t i = 0; i < options->keep_count; i++) r->fate[options->keep[i].id] = KEPT;
    for (size_t i = size; i-- > 0;) {
        const eg__node *node = &graph->nodes[order[i]];
        for (unsigned k = 0; r->fate[order[i]] && k < node->input_count; k++) {
            const uint32_t input = eg__node_input(graph, node, k).id;
            if (!r->fate[input]) r->fate[input] = fate_of(&graph->nodes[input]);
        }
    }
    for (size_t i = 0; i < options->keep_count; i++) /* parameters are in memory anyway */
        if (fate_of(&graph->nodes[options->keep[i].id]) == ITSELF)
            r->fate[options->keep[i].id] = ITSELF;
}

static eg_status check(const eg_graph *graph, const eg_gradient_options *options, eg_error *error) {
    if (!options->keep)
        return eg__fail(error, EG_ERR_ARGUMENT, "gradient: no list of nodes to keep");
    for (size_t i = 0; i < options->keep_count; i++) {
        const uint32_t id = options->keep[i].id;
        if (!id || id > graph->size || graph->nodes[id].scan ||
            graph->nodes[id].op == EG__GRAPH_scan)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "gradient: node %u to keep is not a value outside of scans", id);
    }
    return EG_OK;
}

eg_status eg__recompute_open(eg__recompute *r, eg_graph *graph, const eg_gradient_options *options,
                             const uint32_t *order, size_t size, eg_error *error) {
    *r = (eg__recompute){.graph = graph, .limit = graph->size};
    if (!options || !options->keep_count) return EG_OK;
    eg_status status = check(graph, options, error);
    if (status) return status;
    const size_t nodes = graph->size + 1;
    eg_error reason = {EG_ERR_MEMORY, ""};
    r->value = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, sizeof *r->value, &reason);
    r->path = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, sizeof *r->path, &reason);
    r->fate = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    if (!r->value || !r->path || !r->fate) {
        eg__recompute_close(r);
        return eg__fail(error, reason.status, "%s", reason.message);
    }
    find_fates(r, options, order, size);
    return EG_OK;
}

void eg__recompute_close(eg__recompute *r) {
    eg__memory_give(r->graph->memory, r->value);
    eg__memory_give(r->graph->memory, r->path);
    eg__memory_give(r->graph->memory, r->fate);
    r->value = NULL;
    r->path = NULL;
    r->fate = NULL;
}

/* A copy that reads the replacements of its inputs, or the node itself where no input has a
 * replacement (weights times a mask, for example). Attributes are copied, too: dropout gets the
 * same key and so drops the same elements. */
static eg_node copy(const eg__recompute *r, uint32_t id) {
    const eg__node n = r->graph->nodes[id];
    eg_node inputs[MANY];
    bool same = true;
    for (unsigned i = 0; i < n.input_count; i++) {
        const eg_node input = eg__node_input(r->graph, &n, i);
        inputs[i] = r->value[input.id];
        same = same && inputs[i].id == input.id;
    }
    if (same) return (eg_node){id};
    return eg__graph_add(r->graph, n.op, n.kind, n.input_count, inputs, &n.attributes, &n);
}

/* The first input whose replacement has not been made yet; 0 = none. */
static uint32_t missing_input(const eg__recompute *r, uint32_t id) {
    const eg__node *node = &r->graph->nodes[id];
    for (unsigned i = 0; r->fate[id] == AGAIN && i < node->input_count; i++)
        if (!r->value[eg__node_input(r->graph, node, i).id].id)
            return eg__node_input(r->graph, node, i).id;
    return 0;
}

eg_node eg__recompute_value(eg__recompute *r, eg_node node, eg_node after) {
    if (!node.id || !r->fate || node.id > r->limit) return node;
    size_t depth = 0;
    r->path[depth++] = node.id;
    while (depth && !r->value[node.id].id && !r->graph->mistake.status) {
        const uint32_t id = r->path[depth - 1], missing = missing_input(r, id);
        if (missing) {
            r->path[depth++] = missing;
            continue;
        }
        r->value[id] = r->fate[id] == AGAIN  ? copy(r, id)
                       : r->fate[id] == KEPT ? eg__barrier(r->graph, (eg_node){id}, after)
                                             : (eg_node){id};
        depth--;
    }
    return r->value[node.id];
}
