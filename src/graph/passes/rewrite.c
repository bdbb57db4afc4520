/* Graph to graph, node by node. */
#include "graph/passes/rewrite.h"

#include <string.h>

eg_node eg__rewrite_copy(eg__rewrite *r, uint32_t id) {
    enum { MANY = 16 };
    const eg__node *node = eg__old(r, id);
    eg_node few[MANY], *inputs = few, copy = {0};
    if (node->input_count > MANY) {
        inputs = eg__memory_take_array(r->to->memory, EG_TAG_GRAPH, node->input_count,
                                       sizeof *inputs, NULL);
        if (!inputs)
            return eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory for %u inputs",
                                     node->input_count);
    }
    for (unsigned i = 0; i < node->input_count; i++) inputs[i] = r->map[eg__old_input(r, id, i)];
    if (node->op == EG__GRAPH_barrier && !inputs[1].id) inputs[1] = inputs[0]; /* nobody needs it */
    eg__node like = *node;
    like.name = NULL;
    like.data = NULL;
    like.data_is_lent = false;
    like.next = 0;
    copy = eg__graph_add(r->to, node->op, node->kind, node->input_count, inputs, &node->attributes,
                         &like);
    if (inputs != few) eg__memory_give(r->to->memory, inputs);
    if (!copy.id) return copy;
    eg__node *fresh = eg__node_at(r->to, copy);
    eg_error reason = {EG_ERR_MEMORY, ""};
    if (node->name) {
        fresh->name = eg__memory_take_text(r->to->memory, EG_TAG_GRAPH, node->name,
                                           strlen(node->name), &reason);
        if (!fresh->name) return eg__graph_mistake(r->to, reason.status, "%s", reason.message);
    }
    if (node->data && !node->data_is_lent) fresh->data = eg__numbers_keep(node->data);
    else if (node->data) { /* lent by a program that this graph may outlive: copy */
        const size_t bytes = (size_t)eg__node_elements(node) * eg_type_bits(node->type) / 8;
        fresh->data = eg__numbers_take(r->to->memory, bytes, &reason);
        if (!fresh->data) return eg__graph_mistake(r->to, reason.status, "%s", reason.message);
        memcpy(fresh->data, node->data, bytes);
    }
    if (node->op == EG__GRAPH_update)
        r->to->nodes[eg__node_input(r->to, fresh, 0).id].next = copy.id;
    return copy;
}

bool eg__rewrite_in_sum(const eg__rewrite *r, uint32_t id) {
    const uint32_t user = r->used_by[id];
    return r->uses[id] == 1 && user && eg__is_add(eg__old(r, user)) &&
           eg__old(r, user)->scan == eg__old(r, id)->scan &&
           eg__same_shape(eg__old(r, user), eg__old(r, id));
}

/* ---- which nodes are needed, and how many users they have */
static void use(eg__rewrite *r, uint32_t *stack, size_t *depth, uint32_t user, uint32_t id) {
    r->uses[id]++;
    if (user) r->used_by[id] = user;
    if (r->reachable[id]) return;
    r->reachable[id] = 1;
    stack[(*depth)++] = id;
}

static void mark(eg__rewrite *r, uint32_t *stack) {
    size_t depth = 0;
    for (size_t i = 0; i < r->output_count; i++) use(r, stack, &depth, 0, r->outputs[i].id);
    for (uint32_t i = 1; i <= r->from->size; i++)
        if (eg__old(r, i)->op == EG__GRAPH_update &&
            (!r->rewriter->updates || r->rewriter->updates(r, i)))
            use(r, stack, &depth, 0, i);
    while (depth) {
        const uint32_t id = stack[--depth];
        for (unsigned i = 0; i < eg__read_count(eg__old(r, id)); i++)
            if (!r->rewriter->needs || r->rewriter->needs(r, id, i))
                use(r, stack, &depth, id, eg__old_input(r, id, i));
        if (eg__old(r, id)->op == EG__GRAPH_carry && eg__old(r, id)->next)
            use(r, stack, &depth, 0, eg__old(r, id)->next);
    }
}

static bool is_settled(const eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    switch (node->op) {
    case EG__GRAPH_parameter:
    case EG__GRAPH_constant: return true;
    case EG__GRAPH_input:
    case EG__GRAPH_state:
    case EG__GRAPH_cache:
    case EG__GRAPH_update:
    case EG__GRAPH_scan:
    case EG__GRAPH_stack:
    case EG__GRAPH_total:
    case EG__GRAPH_last: return false;
    case EG__GRAPH_dropout:
        if (r->training) return false;
        break;
    default:
        if (r->training && eg__attention_is_random(node)) return false;
        break;
    }
    for (unsigned i = 0; i < eg__read_count(node); i++)
        if (!r->settled[eg__old_input(r, id, i)]) return false;
    return !node->scan;
}

static void map_node(eg__rewrite *r, uint32_t id) {
    if (r->rewriter->rule) r->map[id] = r->rewriter->rule(r, id);
    if (!r->map[id].id) r->map[id] = eg__rewrite_copy(r, id);
}

static void map_all(eg__rewrite *r) {
    const uint32_t size = r->from->size;
    for (uint32_t i = 1; i <= size; i++) r->settled[i] = is_settled(r, i);
    const bool began = !r->rewriter->begin || r->rewriter->begin(r);
    for (int settled = 1; settled >= 0; settled--)
        for (uint32_t i = 1; began && i <= size && !r->to->mistake.status; i++)
            if (r->reachable[i] && r->settled[i] == settled) map_node(r, i);
    for (uint32_t i = 1; i <= size && !r->to->mistake.status; i++) {
        const eg__node *node = eg__old(r, i);
        if (r->reachable[i] && node->op == EG__GRAPH_carry && node->next)
            eg_scan_update(r->to, r->map[i], r->map[node->next]);
    }
    if (r->rewriter->end) r->rewriter->end(r);
}

eg_status eg__graph_rewrite(const eg_graph *from, size_t count, eg_node *outputs, bool training,
                            const eg__rewriter *rewriter, eg_graph **to, eg_error *error) {
    eg_status status = eg__graph_new(from->memory, to, error);
    if (status) return status;
    eg__rewrite r = {.from = from,
                     .to = *to,
                     .output_count = count,
                     .outputs = outputs,
                     .rewriter = rewriter,
                     .training = training};
    const size_t nodes = from->size + 1;
    eg_error reason = {EG_ERR_MEMORY, ""};
    r.map = eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, sizeof *r.map, &reason);
    r.used_by =
        eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, sizeof *r.used_by, &reason);
    r.uses = eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, sizeof *r.uses, &reason);
    r.reachable = eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    r.settled = eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, 1, &reason);
    uint32_t *stack =
        eg__memory_take_array(from->memory, EG_TAG_GRAPH, nodes, sizeof *stack, &reason);
    r.user = eg__memory_take_zeroed(from->memory, EG_TAG_GRAPH, rewriter->size + 1, &reason);
    if (r.map && r.used_by && r.uses && r.reachable && r.settled && stack && r.user) {
        mark(&r, stack);
        map_all(&r);
        status = eg_graph_check(*to, error);
        for (size_t i = 0; !status && i < count; i++) outputs[i] = r.map[outputs[i].id];
    } else status = eg__fail(error, reason.status, "%s", reason.message);
    eg__memory_give(from->memory, r.map);
    eg__memory_give(from->memory, r.used_by);
    eg__memory_give(from->memory, r.uses);
    eg__memory_give(from->memory, r.reachable);
    eg__memory_give(from->memory, r.settled);
    eg__memory_give(from->memory, stack);
    eg__memory_give(from->memory, r.user);
    if (status) {
        eg_graph_destroy(*to);
        *to = NULL;
    }
    return status;
}
