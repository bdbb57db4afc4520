/* The order in which the nodes outside of scans are computed. */
#include "graph/passes/order.h"

enum { NEW, OPEN, DONE };

typedef struct walk {
    const eg_graph *graph;
    uint32_t *order, *stack; /* the stack holds ids to finish */
    unsigned char *state;
    size_t size, depth;
    uint32_t circle; /* a node that depends on itself */
} walk;

static void push(walk *w, uint32_t id) {
    if (w->state[id] == NEW) w->stack[w->depth++] = id;
    else if (w->state[id] == OPEN) w->circle = id; /* open = on the current path from the root */
}

static void push_inputs(walk *w, const eg__node *node) {
    for (unsigned i = 0; i < node->input_count; i++) {
        uint32_t input = eg__node_input(w->graph, node, i).id;
        if (!w->graph->nodes[input].scan) push(w, input);
    }
}

/* Visits the outside values that the body of a scan reads. */
static void push_body(walk *w, uint32_t scan) {
    for (uint32_t i = 1; i <= w->graph->size; i++) {
        const eg__node *node = &w->graph->nodes[i];
        if (node->scan != scan) continue;
        for (unsigned k = 0; k < node->input_count; k++) {
            uint32_t input = eg__node_input(w->graph, node, k).id;
            if (!w->graph->nodes[input].scan && input != scan) push(w, input);
        }
        if (node->next && !w->graph->nodes[node->next].scan) push(w, node->next);
    }
    for (uint32_t i = 1; i <= w->graph->size; i++) { /* values that are only passed out */
        const eg__node *node = &w->graph->nodes[i];
        bool leaves = node->op == EG__GRAPH_stack || node->op == EG__GRAPH_total;
        if (!leaves || eg__node_input(w->graph, node, 0).id != scan) continue;
        uint32_t value = eg__node_input(w->graph, node, 1).id;
        if (!w->graph->nodes[value].scan) push(w, value);
    }
}

static eg_status finish(walk *w, uint32_t root, eg_error *error) {
    push(w, root);
    while (w->depth && !w->circle) {
        uint32_t id = w->stack[w->depth - 1];
        const eg__node *node = &w->graph->nodes[id];
        size_t depth = w->depth;
        if (w->state[id] == NEW) {
            w->state[id] = OPEN;
            if (node->op == EG__GRAPH_scan) push_body(w, id);
            else push_inputs(w, node);
            if (w->depth > depth) continue;
        }
        w->depth--;
        if (w->state[id] == DONE) continue;
        w->state[id] = DONE;
        w->order[w->size++] = id;
    }
    if (!w->circle) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "node %u (%s) depends on itself", w->circle,
                    eg__node_operation(&w->graph->nodes[w->circle]));
}

static eg_status check_carries(const walk *w, eg_error *error) {
    for (size_t i = 0; i < w->size; i++) {
        const eg__node *node = &w->graph->nodes[w->order[i]];
        if (node->op != EG__GRAPH_scan) continue;
        for (uint32_t k = 1; k <= w->graph->size; k++) {
            const eg__node *inner = &w->graph->nodes[k];
            if (inner->scan == w->order[i] && inner->op == EG__GRAPH_carry && !inner->next)
                return eg__fail(error, EG_ERR_ARGUMENT, "carry %u of scan %u has no update", k,
                                w->order[i]);
        }
    }
    return EG_OK;
}

eg_status eg__graph_order(const eg_graph *graph, size_t count, const eg_node *roots,
                          uint32_t **order, size_t *size, eg_error *error) {
    /* a node may be on the stack once per user */
    size_t nodes = graph->size + 1, room = nodes + graph->inputs_size + 2 * nodes + count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    walk w = {.graph = graph};
    w.order = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, sizeof *w.order, &reason);
    w.stack = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, room, sizeof *w.stack, &reason);
    w.state = eg__memory_take_array(graph->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    eg_status status = w.order && w.stack && w.state
                           ? EG_OK
                           : eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; !status && i < count; i++) {
        if (!roots[i].id || roots[i].id > graph->size || graph->nodes[roots[i].id].scan ||
            graph->nodes[roots[i].id].op == EG__GRAPH_scan)
            status = eg__fail(error, EG_ERR_ARGUMENT, "node %u is not a value outside of scans",
                              roots[i].id);
        else status = finish(&w, roots[i].id, error);
    }
    if (!status) status = check_carries(&w, error);
    eg__memory_give(graph->memory, w.stack);
    eg__memory_give(graph->memory, w.state);
    if (status) {
        eg__memory_give(graph->memory, w.order);
        return status;
    }
    *order = w.order;
    *size = w.size;
    return EG_OK;
}
