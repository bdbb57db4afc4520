/* Chains of elementwise nodes become one unit: one pass over memory for all of them. */
#include "graph/lower/lower.h"

/* ---- does one unit depend on another? */
typedef struct search {
    eg__lowering *l;
    uint32_t *stack, *seen, stamp, target, skipped;
    size_t depth;
    bool found;
} search;

static void consider(void *user, uint32_t unit) {
    search *s = user;
    if (unit == s->target) s->found = true;
    /* built before the target: cannot depend on it */
    if (s->found || s->seen[unit] == s->stamp || unit == s->skipped ||
        s->l->units[unit].last < s->l->units[s->target].first)
        return;
    s->seen[unit] = s->stamp;
    s->stack[s->depth++] = unit;
}

/* Whether `unit` depends on `target` through a third unit. */
static bool needs_through_other(search *s, uint32_t unit, uint32_t target) {
    s->stamp++;
    s->depth = 0;
    s->found = false;
    s->target = 0;
    s->skipped = target; /* skips the direct dependency, follows all others */
    s->seen[unit] = s->stamp;
    eg__lower_needs(s->l, unit, consider, s);
    s->skipped = 0;
    s->target = target;
    s->found = false;
    while (s->depth && !s->found) eg__lower_needs(s->l, s->stack[--s->depth], consider, s);
    return s->found;
}

/* ---- joining units into one */
static void absorb(eg__lowering *l, uint32_t unit, uint32_t other) {
    eg__unit *u = &l->units[unit], *o = &l->units[other];
    uint32_t a = u->first, b = o->first, *at = &u->first;
    while (a || b) { /* members stay in order */
        uint32_t *from = !b || (a && a < b) ? &a : &b;
        *at = *from;
        u->last = *from;
        l->unit[*from] = unit;
        at = &l->next_member[*from];
        *from = *at;
    }
    *at = 0;
    o->first = o->last = 0;
}

/* A member that is read through a view must be stored first. */
static bool reads_view_of(const eg__lowering *l, uint32_t unit, uint32_t other) {
    for (uint32_t id = l->units[unit].first; id; id = l->next_member[id])
        for (unsigned i = 0; i < eg__lower_node(l, id)->input_count; i++) {
            uint32_t input = eg__lower_input(l, id, i), origin = eg__lower_origin(l, input);
            if (origin != input && l->unit[origin] == other) return true;
        }
    return false;
}

/* Whether fusing would delay the reduction of several values to one until after a large later step,
 * and so keep all of them in memory: sums of gradients, for example. */
static bool keeps_much(const eg__lowering *l, uint32_t unit, uint32_t earlier) {
    if (l->units[unit].region != EG__REGION_MAIN) return false;
    const eg__unit *e = &l->units[earlier];
    unsigned full = 0;
    uint32_t seen = 0;
    for (uint32_t id = e->first; id; id = l->next_member[id])
        for (unsigned i = 0; i < eg__lower_node(l, id)->input_count; i++) {
            const uint32_t input = eg__lower_input(l, id, i);
            if (l->unit[input] == earlier || input == seen || !l->unit[input] ||
                !eg__same_shape(eg__lower_node(l, input), eg__lower_node(l, id)))
                continue;
            seen = input;
            full++;
        }
    if (full < 2) return false;
    for (uint32_t id = l->units[unit].first; id; id = l->next_member[id])
        for (unsigned i = 0; i < eg__lower_node(l, id)->input_count; i++) {
            const uint32_t input = eg__lower_origin(l, eg__lower_input(l, id, i));
            if (input > e->last && l->unit[input] && !l->units[l->unit[input]].is_fused)
                return true;
        }
    return false;
}

static bool try_join(search *s, uint32_t unit, uint32_t other) {
    eg__lowering *l = s->l;
    const eg__unit *u = &l->units[unit], *o = &l->units[other];
    if (unit == other || !other || !o->is_fused || o->region != u->region) return false;
    if (!eg__same_shape(eg__lower_node(l, u->first), eg__lower_node(l, o->first))) return false;
    if (l->timed[u->first] != l->timed[o->first]) return false;
    if (keeps_much(l, unit, other)) return false;
    if (reads_view_of(l, unit, other) || reads_view_of(l, other, unit)) return false;
    if (needs_through_other(s, unit, other) || needs_through_other(s, other, unit)) return false;
    if (!eg__lower_fits(l, unit, other)) return false;
    absorb(l, other, unit);
    return true;
}

void eg__lower_fuse(eg__lowering *l) {
    search s = {.l = l};
    s.stack = eg__lower_array(l, l->unit_count, sizeof *s.stack);
    s.seen = eg__lower_array(l, l->unit_count, sizeof *s.seen);
    for (uint32_t id = 1; !l->status && id <= l->graph->size; id++) {
        if (!l->reachable[id] || !l->unit[id] || !l->units[l->unit[id]].is_fused) continue;
        for (unsigned i = 0; i < eg__lower_node(l, id)->input_count; i++)
            try_join(&s, l->unit[id], l->unit[eg__lower_input(l, id, i)]);
    }
    eg__memory_give(l->memory, s.stack);
    eg__memory_give(l->memory, s.seen);
}
