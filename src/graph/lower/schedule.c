/* Units of work and the order in which they run: the order in which they were built, as far as
 * dependencies allow. */
#include "graph/lower/lower.h"

/* ---- units */
static bool is_computed(const eg__lowering *l, uint32_t id) {
    switch (eg__lower_node(l, id)->op) {
    case EG__GRAPH_input:
    case EG__GRAPH_parameter:
    case EG__GRAPH_constant:
    case EG__GRAPH_state:
    case EG__GRAPH_cache:
    case EG__GRAPH_carry:
    case EG__GRAPH_stack:
    case EG__GRAPH_total:
    case EG__GRAPH_last: return false;
    default: return !eg__is_view(l, id);
    }
}

static void make_units(eg__lowering *l) {
    l->units = eg__lower_array(l, l->graph->size + 2, sizeof *l->units);
    if (!l->units) return;
    l->unit_count = 1;
    for (uint32_t i = 1; i <= l->graph->size; i++) {
        if (!l->reachable[i] || !is_computed(l, i)) continue;
        l->unit[i] = (uint32_t)l->unit_count;
        l->units[l->unit_count++] = (eg__unit){
            .region = l->region[i], .first = i, .last = i, .is_fused = eg__is_fusable(l, i)};
        if (eg__lower_node(l, i)->op == EG__GRAPH_scan) /* it may depend on nodes built later */
            l->units[l->unit[i]].last = l->graph->size;
    }
    for (uint32_t i = 1; i <= l->graph->size; i++) { /* results are of the scan's unit */
        const eg__op_id op = eg__lower_node(l, i)->op;
        if (l->reachable[i] && eg__op_row(op)->scan_side == EG__SCAN_LEAVES)
            l->unit[i] = l->unit[eg__lower_input(l, i, 0)];
    }
}

/* ---- what a unit needs */
static void visit_origin(eg__lowering *l, uint32_t unit, uint32_t id, eg__visit visit, void *user) {
    const uint32_t needed = l->unit[eg__lower_origin(l, id)];
    if (needed && needed != unit && l->units[needed].region == l->units[unit].region)
        visit(user, needed);
}

static void visit_node(eg__lowering *l, uint32_t unit, uint32_t id, eg__visit visit, void *user) {
    visit_origin(l, unit, id, visit, user);
    /* a barrier adds a dependency */
    while (eg__lower_node(l, id)->op != EG__GRAPH_step && eg__is_view(l, id)) {
        const eg__node *node = eg__lower_node(l, id);
        if (node->op == EG__GRAPH_barrier)
            visit_origin(l, unit, eg__lower_input(l, id, 1), visit, user);
        id = eg__lower_input(l, id, node->op == EG__GRAPH_update);
    }
}

void eg__lower_needs(eg__lowering *l, uint32_t unit, eg__visit visit, void *user) {
    const eg__unit *u = &l->units[unit];
    if (eg__lower_node(l, u->first)->op != EG__GRAPH_scan) {
        for (uint32_t id = u->first; id; id = l->next_member[id])
            for (unsigned i = 0; i < eg__lower_node(l, id)->input_count; i++)
                visit_node(l, unit, eg__lower_input(l, id, i), visit, user);
        return;
    }
    uint32_t body = EG__REGION_BODIES;
    while (l->regions[body].scan != u->first) body++;
    for (uint32_t k = l->inside_first[body]; k < l->inside_first[body + 1]; k++) {
        const eg__node *node = eg__lower_node(l, l->inside[k]);
        for (unsigned i = 0; i < node->input_count; i++)
            visit_node(l, unit, eg__node_input(l->graph, node, i).id, visit, user);
        if (node->op == EG__GRAPH_carry) visit_node(l, unit, node->next, visit, user);
    }
    for (uint32_t k = l->user_first[u->first]; k < l->user_first[u->first + 1]; k++) {
        const eg__node *node = eg__lower_node(l, l->users[k]); /* the stacked value */
        if (node->input_count > 1 && !node->scan)
            visit_node(l, unit, eg__node_input(l->graph, node, 1).id, visit, user);
    }
}

/* ---- the order of each region */
typedef struct edges {
    uint32_t *list; /* pairs: needed, user */
    size_t count, room;
    eg__lowering *l;
    uint32_t user;
} edges;

static void add_edge(void *user, uint32_t unit) {
    edges *e = user;
    void *list = e->list;
    if (!eg__lower_grow(e->l, &list, 2 * e->count, &e->room, sizeof *e->list)) return;
    e->list = list;
    e->list[2 * e->count] = unit;
    e->list[2 * e->count + 1] = e->user;
    e->count++;
}

/* The sort key: a scan counts as built when its first result was, any other unit when its last node
 * was. */
static uint32_t priority(const eg__lowering *l, uint32_t unit) {
    const uint32_t scan = l->units[unit].first;
    if (eg__lower_node(l, scan)->op != EG__GRAPH_scan) return l->units[unit].last;
    for (uint32_t k = l->user_first[scan]; k < l->user_first[scan + 1]; k++)
        if (!eg__lower_node(l, l->users[k])->scan) return l->users[k];
    return scan;
}

/* Units that depend on unit u: users[first[u] .. first[u + 1]). */
typedef struct waiting {
    uint32_t *needs, *first, *users, *ready;
} waiting;

static void collect(eg__lowering *l, waiting *w) {
    edges e = {.l = l};
    const size_t units = l->unit_count;
    w->needs = eg__lower_array(l, units, sizeof *w->needs);
    w->ready = eg__lower_array(l, units, sizeof *w->ready);
    w->first = eg__lower_array(l, units + 2, sizeof *w->first);
    for (e.user = 1; !l->status && e.user < units; e.user++)
        if (l->units[e.user].first) eg__lower_needs(l, e.user, add_edge, &e);
    w->users = eg__lower_array(l, e.count + 1, sizeof *w->users);
    if (!l->status) {
        uint32_t *first = w->first + 1;
        for (size_t i = 0; i < e.count; i++) first[e.list[2 * i] + 1]++;
        for (size_t u = 0; u < units; u++) first[u + 1] += first[u];
        for (size_t i = 0; i < e.count; i++) {
            w->users[first[e.list[2 * i]]++] = e.list[2 * i + 1];
            w->needs[e.list[2 * i + 1]]++;
        }
    }
    eg__memory_give(l->memory, e.list);
}

/* Of the units that are ready, the one built first runs next. */
static void order_region(eg__lowering *l, waiting *w, uint32_t r) {
    eg__region *region = &l->regions[r];
    size_t size = 0, count = 0;
    for (uint32_t u = 1; u < l->unit_count; u++) {
        if (!l->units[u].first || l->units[u].region != r) continue;
        size++;
        if (!w->needs[u]) w->ready[count++] = u;
    }
    region->units = eg__lower_array(l, size + 1, sizeof *region->units);
    while (count && !l->status) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (priority(l, w->ready[i]) < priority(l, w->ready[best])) best = i;
        const uint32_t u = w->ready[best];
        w->ready[best] = w->ready[--count];
        l->units[u].position = (uint32_t)region->unit_count;
        region->units[region->unit_count++] = u;
        for (uint32_t k = w->first[u]; k < w->first[u + 1]; k++)
            if (!--w->needs[w->users[k]]) w->ready[count++] = w->users[k];
    }
    if (region->unit_count < size)
        eg__lower_fail(l, EG_ERR_ARGUMENT, "a value depends on itself through a scan");
}

static void order_units(eg__lowering *l) {
    waiting w = {0};
    collect(l, &w);
    for (uint32_t r = 0; !l->status && r < l->region_count; r++) order_region(l, &w, r);
    eg__memory_give(l->memory, w.needs);
    eg__memory_give(l->memory, w.first);
    eg__memory_give(l->memory, w.users);
    eg__memory_give(l->memory, w.ready);
}

uint32_t eg__lower_last_use(const eg__lowering *l, uint32_t id, uint32_t region) {
    uint32_t last = 0;
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].id == id) return EG__NEVER;
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        const eg__node *node = eg__lower_node(l, user);
        uint32_t at;
        if (node->op == EG__GRAPH_update) return EG__NEVER;
        if (l->region[user] == region)
            at = eg__is_view(l, user) ? eg__lower_last_use(l, user, region)
                                      : l->units[l->unit[user]].position;
        else if (region == EG__REGION_MAIN && node->scan)
            at = l->units[l->unit[node->scan]].position;
        else return EG__NEVER; /* it leaves the body, or the prologue */
        if (at > last) last = at;
    }
    /* the update of a carry is read at the end of the body */
    for (uint32_t carry = l->becomes[id]; carry; carry = l->becomes_next[carry]) {
        if (region != EG__REGION_MAIN) return EG__NEVER;
        const uint32_t at = l->units[l->unit[eg__lower_node(l, carry)->scan]].position;
        if (at > last) last = at;
    }
    return last;
}

void eg__lower_schedule(eg__lowering *l) {
    make_units(l);
    if (!l->status && eg__pass_is_on(l->options, EG__PASS_fuse)) eg__lower_fuse(l);
    if (!l->status) order_units(l);
    if (!l->status) eg__lower_partition(l);
    if (!l->status && eg__pass_is_on(l->options, EG__PASS_epilogue)) eg__lower_epilogues(l);
}
