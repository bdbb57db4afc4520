/* Storage of values: a value is computed directly where its user needs it (in a concat, a stack, a
 * carry, an output), so that no copy is needed. */
#include "graph/lower/lower.h"

static bool is_output(const eg__lowering *l, uint32_t id, size_t *which) {
    for (*which = 0; *which < l->output_count; (*which)++)
        if (l->outputs[*which].id == id) return true;
    return false;
}

static eg__view find_storage(eg__lowering *l, uint32_t id, uint32_t reuse, bool early);

/* The position of `id` among the inputs of a concat. */
static eg__view concat_part(eg__lowering *l, uint32_t concat, uint32_t id) {
    const eg__node *node = eg__lower_node(l, concat);
    const unsigned axis = node->attributes.concat.axis;
    size_t start = 0;
    for (unsigned i = 0; eg__node_input(l->graph, node, i).id != id; i++)
        start += (size_t)eg__node_at(l->graph, eg__node_input(l->graph, node, i))->shape[axis];
    if (!l->located[concat]) find_storage(l, concat, 0, true);
    return eg__view_part(&l->value[concat], axis, start);
}

/* The value is an input of a concat: it is computed in the concat's storage. */
static bool storage_in_concat(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        if (eg__lower_node(l, user)->op != EG__GRAPH_concat || l->region[user] != l->region[id] ||
            eg__lower_packs_parts(l, user) || eg__lower_part_of(l, user))
            continue;
        *view = concat_part(l, user, id);
        /* the concat's storage may not be overwritten while others read this part */
        if (eg__lower_last_use(l, id, l->region[id]) != l->units[l->unit[user]].position)
            l->buffers[view->buffer].owner = 0;
        return true;
    }
    return false;
}

/* The value is the update of a carry that has a history. */
static bool follows_history(const eg__lowering *l, uint32_t id) {
    for (uint32_t carry = l->becomes[id]; carry; carry = l->becomes_next[carry])
        if (l->value[carry].time) return true;
    return false;
}

/* The value is stacked by its scan: a slice of the stack. */
bool eg__lower_stack_place(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op != EG__GRAPH_stack || node->attributes.stack.every ||
            eg__lower_input(l, user, 0) != eg__lower_node(l, id)->scan)
            continue;
        if (!l->located[user] && follows_history(l, id) && !is_output(l, user, &(size_t){0}))
            return false; /* the carry's history is the stack's storage */
        if (!l->located[user]) eg__lower_storage(l, user, 0);
        const eg__view stack = l->value[user];
        *view = stack;
        view->time = eg__view_bytes(&stack, stack.stride[0]);
        for (unsigned i = 0; i + 1 < node->rank; i++) view->stride[i] = stack.stride[i + 1];
        return true;
    }
    return false;
}

/* All readers of `old` run before the unit of `id` overwrites it. */
static bool may_replace(eg__lowering *l, uint32_t old, uint32_t id) {
    const uint32_t region = l->region[id];
    const uint32_t unit = l->unit[id], position = l->units[unit].position;
    /* a carry whose update is `old` reads it at the end of the body */
    if (!unit || is_output(l, old, &(size_t){0}) || l->becomes[old]) return false;
    for (uint32_t k = l->user_first[old]; k < l->user_first[old + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        if (node->op == EG__GRAPH_last) continue;
        /* its own update, or another state that takes its old value */
        if (node->op == EG__GRAPH_update) {
            if (eg__lower_input(l, user, 1) == old) return false;
            continue;
        }
        if (l->region[user] != region) return false;
        if (eg__is_view(l, user)) {
            const uint32_t last = eg__lower_last_use(l, user, region);
            if (last == EG__NEVER || last >= position) return false;
        } else {
            const uint32_t at = l->units[l->unit[user]].position;
            if (at > position) return false;
            /* the same unit may read it, if both accesses are elementwise at the same address */
            const bool same_place =
                l->units[unit].is_fused
                    ? eg__same_shape(node, eg__lower_node(l, old))
                    : node->op == EG__GRAPH_slice_update && eg__lower_input(l, user, 2) != old;
            if (at == position && (l->unit[user] != unit || !same_place)) return false;
        }
    }
    return true;
}

/* The value is the update of a carry: it may overwrite the carry. */
static bool storage_in_carry(eg__lowering *l, uint32_t id, bool early, eg__view *view) {
    const uint32_t region = l->region[id];
    const uint32_t found = l->becomes[id];
    if (region < EG__REGION_BODIES || !found || l->becomes_next[found]) return false;
    *view = l->value[found];
    if (view->time) { /* the next slot of the carry's history */
        const bool reverse =
            eg__lower_node(l, eg__lower_node(l, found)->scan)->attributes.scan.reverse;
        if (reverse) view->offset -= view->time;
        else view->offset += view->time;
        return true;
    }
    return !early && may_replace(l, found, id);
}

static bool storage_in_state(eg__lowering *l, uint32_t id, eg__view *view) {
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        if (eg__lower_node(l, user)->op != EG__GRAPH_update || eg__lower_input(l, user, 1) != id)
            continue;
        const uint32_t state = eg__lower_input(l, user, 0);
        if (eg__lower_part_of(l, state) || (l->reachable[state] && !may_replace(l, state, id)))
            continue;
        /* a device may still be reading that input when the unit of `id` runs */
        if (l->part_count && eg__lower_node(l, state)->op == EG__GRAPH_input) continue;
        *view = eg__lower_value(l, state);
        return true;
    }
    return false;
}

bool eg__lower_reusable(const eg__lowering *l, uint32_t id, uint32_t input) {
    if (!l->located[input] || !eg__pass_is_on(l->options, EG__PASS_reuse)) return false;
    const eg__view *old = &l->value[input];
    const eg__buffer *buffer = &l->buffers[old->buffer];
    return buffer->owner == input && buffer->region == l->region[id] &&
           buffer->space == EG__SPACE_ARENA && !old->offset && !old->time &&
           eg__same_shape(eg__lower_node(l, id), eg__lower_node(l, input)) &&
           eg__lower_last_use(l, input, l->region[id]) == l->units[l->unit[id]].position;
}

/* `early`: parts of the value are written before its own unit runs (inputs of a concat). */
static eg__view find_storage(eg__lowering *l, uint32_t id, uint32_t reuse, bool early) {
    if (l->located[id] || l->status) return l->value[id];
    const eg__node *node = eg__lower_node(l, id);
    eg__view view = {0};
    size_t which;
    const bool places =
        l->region[id] != EG__REGION_PROLOGUE && eg__pass_is_on(l->options, EG__PASS_in_place);
    if (places && is_output(l, id, &which)) {
        view.buffer =
            eg__lower_outside(l, EG__SPACE_BOUND + (uint32_t)(l->program->inputs.count + which), 0);
        view.type = node->type;
        eg__view_set_dense(node, &view);
    } else if (places && storage_in_carry(l, id, early, &view)) {
    } else if (places && !early && storage_in_state(l, id, &view)) {
    } else if (eg__pass_is_on(l->options, EG__PASS_in_place) && storage_in_concat(l, id, &view)) {
    } else if (places && eg__lower_stack_place(l, id, &view)) {
    } else if (reuse && eg__lower_reusable(l, id, reuse)) {
        view = l->value[reuse];
        l->buffers[view.buffer].owner = id;
    } else {
        view = eg__lower_new(l, l->region[id], node);
        if (view.buffer) l->buffers[view.buffer].owner = id;
    }
    l->value[id] = view;
    l->located[id] = 1;
    return view;
}

eg__view eg__lower_storage(eg__lowering *l, uint32_t id, uint32_t reuse) {
    return find_storage(l, id, reuse, false);
}

bool eg__lower_second_place(eg__lowering *l, uint32_t id, uint32_t user, eg__view *view) {
    const eg__node *node = eg__lower_node(l, user);
    size_t which;
    if (!eg__pass_is_on(l->options, EG__PASS_in_place) || l->region[id] != l->region[user] ||
        (node->op == EG__GRAPH_concat && eg__lower_part_of(l, user)))
        return false;
    if (node->op == EG__GRAPH_update && eg__lower_input(l, user, 1) == id &&
        is_output(l, user, &which)) {
        *view =
            (eg__view){.type = node->type,
                       .buffer = eg__lower_outside(
                           l, EG__SPACE_BOUND + (uint32_t)(l->program->inputs.count + which), 0)};
        eg__view_set_dense(node, view);
        return l->buffers[l->value[id].buffer].space != l->buffers[view->buffer].space;
    }
    unsigned times = 0;
    for (unsigned i = 0; node->op == EG__GRAPH_concat && i < node->input_count; i++)
        times += eg__node_input(l->graph, node, i).id == id;
    if (times != 1 || l->part_of[id] || eg__lower_packs_parts(l, user)) return false;
    *view = concat_part(l, user, id);
    return !eg__view_same(eg__lower_node(l, id), view, &l->value[id]);
}

eg__view eg__lower_plain_storage(eg__lowering *l, uint32_t id) {
    eg__view view = eg__lower_new(l, l->region[id], eg__lower_node(l, id));
    if (l->status) return view;
    l->buffers[view.buffer].owner = id;
    l->value[id] = view;
    l->located[id] = 1;
    return view;
}

eg__view eg__lower_dense_storage(eg__lowering *l, uint32_t id, uint32_t reuse) {
    eg__view home = eg__lower_storage(l, id, reuse);
    if (!l->status && !eg__view_is_contiguous(eg__lower_node(l, id), &home))
        home = eg__lower_plain_storage(l, id);
    return home;
}

eg__matrix eg__lower_rows_storage(eg__lowering *l, uint32_t id, uint32_t reuse) {
    eg__matrix rows = {{0}, 1, 1, 1};
    eg__view home = eg__lower_storage(l, id, reuse);
    if (!l->status && !eg__view_rows(eg__lower_node(l, id), &home, &rows)) {
        home = eg__lower_plain_storage(l, id);
        eg__view_rows(eg__lower_node(l, id), &home, &rows);
    }
    return rows;
}
