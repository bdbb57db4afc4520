/* Which nodes of a graph a program needs, to which list of steps each belongs, and who uses it. */
#include "graph/lower/lower.h"

#include <string.h>

static bool leaves_scan(const eg__node *node) {
    return eg__op_row(node->op)->scan_side == EG__SCAN_LEAVES;
}

bool eg__is_view(const eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    if (node->op == EG__GRAPH_dropout)
        return !l->options->training || node->attributes.dropout.rate == 0;
    return node->op == EG__GRAPH_step || node->op == EG__GRAPH_update || eg__op_row(node->op)->view;
}

bool eg__is_fusable(const eg__lowering *l, uint32_t id) {
    return eg__op_row(eg__lower_node(l, id)->op)->fused != NULL;
}

uint32_t eg__lower_origin(const eg__lowering *l, uint32_t id) {
    while (eg__lower_node(l, id)->op != EG__GRAPH_step && eg__is_view(l, id))
        id = eg__lower_input(l, id, eg__lower_node(l, id)->op == EG__GRAPH_update);
    return id;
}

/* ---- what is needed */
static void mark(eg__lowering *l, uint32_t *stack, size_t *depth, uint32_t id) {
    if (l->reachable[id]) return;
    l->reachable[id] = 1;
    stack[(*depth)++] = id;
}

static void mark_all(eg__lowering *l) {
    uint32_t *stack = eg__lower_array(l, l->graph->size + 1, sizeof *stack);
    size_t depth = 0;
    if (!stack) return;
    for (size_t i = 0; i < l->output_count; i++) mark(l, stack, &depth, l->outputs[i].id);
    for (uint32_t i = 1; i <= l->graph->size; i++)
        if (eg__lower_node(l, i)->op == EG__GRAPH_update) mark(l, stack, &depth, i);
    while (depth) {
        const eg__node *node = eg__lower_node(l, stack[--depth]);
        for (unsigned i = 0; i < eg__read_count(node); i++)
            mark(l, stack, &depth, eg__node_input(l->graph, node, i).id);
        if (node->op != EG__GRAPH_carry) continue;
        if (node->next) mark(l, stack, &depth, node->next);
        else eg__lower_fail(l, EG_ERR_ARGUMENT, "a carry of scan %u has no update", node->scan);
    }
    eg__memory_give(l->memory, stack);
}

/* ---- the region of each node. Nodes that depend on parameters and constants alone are computed
 * once, in the prologue. */
static bool is_settled(const eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    if (node->op == EG__GRAPH_parameter || node->op == EG__GRAPH_constant) return true;
    if (!node->input_count || node->scan || leaves_scan(node) || node->op == EG__GRAPH_scan ||
        node->op == EG__GRAPH_update) /* inputs, states and caches have no inputs of their own */
        return false;
    if (node->op == EG__GRAPH_dropout && !eg__is_view(l, id)) return false;
    if (l->options->training && eg__attention_is_random(node)) return false;
    for (unsigned i = 0; i < eg__read_count(node); i++)
        if (l->region[eg__node_input(l->graph, node, i).id] != EG__REGION_PROLOGUE) return false;
    return true;
}

static void find_regions(eg__lowering *l) {
    size_t scans = 0;
    for (uint32_t i = 1; i <= l->graph->size; i++)
        scans += l->reachable[i] && eg__lower_node(l, i)->op == EG__GRAPH_scan;
    l->region_count = EG__REGION_BODIES + scans;
    l->regions = eg__lower_array(l, l->region_count, sizeof *l->regions);
    if (!l->regions) return;
    uint32_t next = EG__REGION_BODIES;
    for (uint32_t i = 1; i <= l->graph->size; i++)
        if (l->reachable[i] && eg__lower_node(l, i)->op == EG__GRAPH_scan)
            l->regions[next++].scan = i;
    for (uint32_t i = 1; i <= l->graph->size; i++) {
        const eg__node *node = eg__lower_node(l, i);
        if (!l->reachable[i]) continue;
        l->region[i] = is_settled(l, i) ? EG__REGION_PROLOGUE : EG__REGION_MAIN;
        for (uint32_t r = EG__REGION_BODIES; node->scan && r < l->region_count; r++)
            if (l->regions[r].scan == node->scan) l->region[i] = r;
    }
}

/* ---- lists: counted, then filled */
static void list_inside(eg__lowering *l) {
    l->inside_first = eg__lower_array(l, l->region_count + 2, sizeof *l->inside_first);
    l->inside = eg__lower_array(l, l->graph->size + 1, sizeof *l->inside);
    if (!l->inside_first || !l->inside) return;
    uint32_t *first = l->inside_first + 1;
    for (uint32_t i = 1; i <= l->graph->size; i++)
        if (l->reachable[i]) first[l->region[i] + 1]++;
    for (size_t r = 0; r < l->region_count; r++) first[r + 1] += first[r];
    for (uint32_t i = 1; i <= l->graph->size; i++)
        if (l->reachable[i]) l->inside[first[l->region[i]]++] = i;
}

static void list_users(eg__lowering *l) {
    l->user_first = eg__lower_array(l, l->graph->size + 3, sizeof *l->user_first);
    l->users = eg__lower_array(l, l->graph->inputs_size + 1, sizeof *l->users);
    if (!l->user_first || !l->users) return;
    uint32_t *first = l->user_first + 1;
    for (int filling = 0; filling < 2; filling++) {
        for (uint32_t i = 1; i <= l->graph->size; i++) {
            const eg__node *node = eg__lower_node(l, i);
            for (unsigned k = 0; l->reachable[i] && k < eg__read_count(node); k++) {
                uint32_t input = eg__node_input(l->graph, node, k).id;
                if (filling) l->users[first[input]++] = i;
                else first[input + 1]++;
            }
        }
        for (uint32_t i = 0; !filling && i <= l->graph->size; i++) first[i + 1] += first[i];
    }
}

static void list_carries(eg__lowering *l) {
    for (uint32_t i = 1; i <= l->graph->size; i++) {
        const eg__node *node = eg__lower_node(l, i);
        if (!l->reachable[i] || node->op != EG__GRAPH_carry) continue;
        l->becomes_next[i] = l->becomes[node->next];
        l->becomes[node->next] = i;
    }
}

/* ---- scan bodies that can be split along the batch: the first axis of every value in them */
static bool keeps_items(const eg__lowering *l, uint32_t id, uint64_t items) {
    const eg__node *node = eg__lower_node(l, id);
    const eg__op *op = eg__op_row(node->op);
    if (node->op == EG__GRAPH_step) return true; /* the whole value is only read in the body */
    return eg__has_items(node, items) && op->keeps_items && op->keeps_items(l->graph, node, items);
}

static void find_cuts(eg__lowering *l) {
    for (uint32_t r = EG__REGION_BODIES; r < l->region_count; r++) {
        uint64_t items = 0;
        bool cuts = true;
        for (uint32_t i = l->inside_first[r]; i < l->inside_first[r + 1]; i++) {
            const eg__node *node = eg__lower_node(l, l->inside[i]);
            if (!items && node->op == EG__GRAPH_carry && node->rank) items = node->shape[0];
        }
        for (uint32_t i = l->inside_first[r]; i < l->inside_first[r + 1]; i++)
            cuts = cuts && keeps_items(l, l->inside[i], items);
        /* values that leave the body must be split, too */
        const uint32_t scan = l->regions[r].scan;
        for (uint32_t k = l->user_first[scan]; k < l->user_first[scan + 1]; k++) {
            const eg__node *out = eg__lower_node(l, l->users[k]);
            if (out->op != EG__GRAPH_stack && out->op != EG__GRAPH_total) continue;
            const eg__node *value = eg__node_at(l->graph, eg__node_input(l->graph, out, 1));
            cuts = cuts && eg__has_items(value, items) &&
                   (out->op == EG__GRAPH_stack || value->rank > 1);
        }
        l->regions[r].batch_items = cuts && items > 1 ? (size_t)items : 0;
    }
}

void eg__lower_analyse(eg__lowering *l) {
    const size_t nodes = l->graph->size + 1;
    l->reachable = eg__lower_array(l, nodes, 1);
    l->timed = eg__lower_array(l, nodes, 1);
    l->located = eg__lower_array(l, nodes, 1);
    l->written_directly = eg__lower_array(l, nodes, 1);
    l->part_of = eg__lower_array(l, nodes, sizeof *l->part_of);
    l->region = eg__lower_array(l, nodes, sizeof *l->region);
    l->becomes = eg__lower_array(l, nodes, sizeof *l->becomes);
    l->becomes_next = eg__lower_array(l, nodes, sizeof *l->becomes_next);
    l->unit = eg__lower_array(l, nodes, sizeof *l->unit);
    l->next_member = eg__lower_array(l, nodes, sizeof *l->next_member);
    l->value = eg__lower_array(l, nodes, sizeof *l->value);
    if (!l->status) mark_all(l);
    if (!l->status) find_regions(l);
    if (!l->status) list_inside(l);
    if (!l->status) list_users(l);
    if (!l->status) list_carries(l);
    if (!l->status) find_cuts(l);
    if (!l->status) eg__lower_time(l);
}
