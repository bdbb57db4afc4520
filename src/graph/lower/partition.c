/* Which units run on which device: the cheapest way to cut the ordered units of a program into runs, each on the cores or on
 * one device.
 *
 * A run on a device costs its units, a launch, and the copies of what comes from elsewhere and of what is needed elsewhere:
 * all of it known from where the run begins and ends, because values lie in the host's memory between runs. So the best
 * cut of the first n units follows from the best cuts of fewer. A state stays on one device: a run has all units that read
 * or replace it, or none. */
#include "graph/lower/lower.h"
#include "graph/ops/kv.h"

#include <math.h>

enum { UNKNOWN, YES, NO };
typedef struct partition {
    eg__lowering *l;
    size_t units, devices;
    double *host;             /* seconds per position */
    double *seconds;          /* per device and position; negative = the device cannot run it */
    size_t *lowest, *highest; /* a run that contains a position must span this range */
    unsigned char *can;       /* per device and node: the answer of its `can` */
    /* per node: the last position that reads it, EG__NEVER = read after all units */
    uint32_t *last;
    uint32_t *nodes; /* scratch: the nodes of one unit */
    size_t node_count;
    double *expires; /* per position: bytes of values whose last use it is */
    uint32_t *seen;  /* per node: 1 + the first position of the run it was counted for */
    double *best;    /* least seconds of the first n units */
    size_t *from;    /* where the last run of that best cut begins */
    uint32_t *on;    /* the device of that run, 0 = the cores */
} partition;

/* ---- units */
void eg__lower_members(const eg__lowering *l, uint32_t unit, eg__visit visit, void *user) {
    const eg__unit *u = &l->units[unit];
    if (eg__lower_node(l, u->first)->op != EG__GRAPH_scan) {
        for (uint32_t id = u->first; id; id = l->next_member[id]) visit(user, id);
        return;
    }
    uint32_t body = EG__REGION_BODIES;
    while (l->regions[body].scan != u->first) body++;
    visit(user, u->first);
    for (uint32_t k = l->inside_first[body]; k < l->inside_first[body + 1]; k++)
        visit(user, l->inside[k]);
    /* stacks, totals, lasts */
    for (uint32_t k = l->user_first[u->first]; k < l->user_first[u->first + 1]; k++)
        if (!eg__lower_node(l, l->users[k])->scan) visit(user, l->users[k]);
}

typedef struct reads {
    const eg__lowering *l;
    eg__visit visit;
    void *user;
} reads;

static void read_inputs(void *user, uint32_t id) {
    const reads *r = user;
    const eg__node *node = eg__lower_node(r->l, id);
    for (unsigned i = 0; i < eg__read_count(node); i++)
        r->visit(r->user, eg__node_input(r->l->graph, node, i).id);
    if (node->op == EG__GRAPH_carry) r->visit(r->user, node->next);
}

void eg__lower_reads(const eg__lowering *l, uint32_t unit, eg__visit visit, void *user) {
    reads r = {l, visit, user};
    eg__lower_members(l, unit, read_inputs, &r);
}

/* The unit of the main region that a node is computed in; 0 = none: a leaf, a view, the prologue's. */
static uint32_t main_unit(const eg__lowering *l, uint32_t id) {
    const uint32_t scan = eg__lower_node(l, id)->scan;
    const uint32_t unit = l->unit[scan ? scan : id];
    return unit && l->units[unit].region == EG__REGION_MAIN ? unit : 0;
}

uint32_t eg__lower_part_of(const eg__lowering *l, uint32_t id) {
    if (!l->part_of_unit) return 0;
    const uint32_t unit = main_unit(l, id);
    return unit ? l->part_of_unit[unit] : l->part_of_state[id];
}

/* ---- states: the leaf that a value is, or 0 */
static uint32_t state_of(const eg__lowering *l, uint32_t id) {
    const uint32_t cache = eg__kv_of(l->graph, id);
    if (cache) return cache;
    const uint32_t origin = eg__lower_origin(l, id);
    return eg__lower_node(l, origin)->op == EG__GRAPH_state ? origin : 0;
}

/* The range of positions that read or update each state. */
typedef struct pins {
    partition *p;
    size_t *first, *last; /* positions, per node; first > last = nowhere */
    unsigned char *host;  /* read outside of units: the state stays on the host */
    size_t position;
} pins;

static void find_read(void *user, uint32_t id) {
    pins *s = user;
    const uint32_t state = state_of(s->p->l, id);
    if (!state) return;
    s->first[state] = eg__min(s->first[state], s->position);
    s->last[state] = eg__max(s->last[state], s->position);
}

static void limit_read(void *user, uint32_t id) {
    pins *s = user;
    partition *p = s->p;
    const uint32_t state = state_of(p->l, id);
    if (!state) return;
    p->lowest[s->position] = eg__min(p->lowest[s->position], s->first[state]);
    p->highest[s->position] = eg__max(p->highest[s->position], s->last[state]);
    for (size_t d = 0; s->host[state] && d < p->devices; d++)
        p->seconds[d * p->units + s->position] = -1;
}

/* Outputs that are states, and updates: the unit of the new value must be on the device of those
 * that read the old value. */
static void find_updates(pins *s) {
    const eg__lowering *l = s->p->l;
    for (size_t i = 0; i < l->output_count; i++) s->host[state_of(l, l->outputs[i].id)] = 1;
    for (uint32_t id = 1; id <= l->graph->size; id++) {
        if (!l->reachable[id] || eg__lower_node(l, id)->op != EG__GRAPH_update) continue;
        const uint32_t state = eg__lower_input(l, id, 0), value = eg__lower_input(l, id, 1);
        const uint32_t unit = main_unit(l, eg__lower_origin(l, value));
        if (!unit) s->host[state] = s->host[state_of(l, value)] = 1;
        else if (s->first[state] <= s->last[state]) {
            s->position = l->units[unit].position;
            find_read(s, state);
        }
    }
}

static void limit_updates(pins *s) {
    const eg__lowering *l = s->p->l;
    for (uint32_t id = 1; id <= l->graph->size; id++) {
        if (!l->reachable[id] || eg__lower_node(l, id)->op != EG__GRAPH_update) continue;
        const uint32_t state = eg__lower_input(l, id, 0);
        const uint32_t unit = main_unit(l, eg__lower_origin(l, eg__lower_input(l, id, 1)));
        if (!unit || s->host[state] || s->first[state] > s->last[state]) continue;
        s->position = l->units[unit].position;
        limit_read(s, state);
    }
}

static void find_pins(partition *p) {
    eg__lowering *l = p->l;
    const size_t nodes = l->graph->size + 1;
    const uint32_t *order = l->regions[EG__REGION_MAIN].units;
    pins s = {.p = p};
    s.first = eg__lower_array(l, nodes, sizeof *s.first);
    s.last = eg__lower_array(l, nodes, sizeof *s.last);
    s.host = eg__lower_array(l, nodes, 1);
    if (!l->status) {
        for (size_t i = 0; i < nodes; i++) s.first[i] = SIZE_MAX;
        for (s.position = 0; s.position < p->units; s.position++)
            eg__lower_reads(l, order[s.position], find_read, &s);
        find_updates(&s);
        for (s.position = 0; s.position < p->units; s.position++)
            eg__lower_reads(l, order[s.position], limit_read, &s);
        limit_updates(&s);
    }
    eg__memory_give(l->memory, s.first);
    eg__memory_give(l->memory, s.last);
    eg__memory_give(l->memory, s.host);
}

/* ---- costs */
static double bytes_of(const eg__node *node) {
    return (double)eg__node_elements(node) * eg_type_bits(node->type) / 8;
}

static void add_member(void *user, uint32_t id) {
    partition *p = user;
    p->nodes[p->node_count++] = id;
}

static void find_quantized(void *user, uint32_t id) { /* inputs in file layout stay on the host */
    partition *p = user;
    const eg__node *node = eg__lower_node(p->l, id);
    if (node->op == EG__GRAPH_input && eg__is_quantized(node->type)) p->node_count = 0;
}

/* Modelled cost of a node that was not measured: its FLOPs and bytes at the rates of the cores. */
static double host_seconds(const partition *p) {
    const eg__placement *where = p->l->options->placement;
    const eg_graph *graph = p->l->graph;
    double flops = 0, bytes = 0;
    for (size_t i = 0; i < p->node_count; i++) {
        const eg__node *node = eg__lower_node(p->l, p->nodes[i]);
        const eg__op *op = eg__op_row(node->op);
        const double times =
            node->scan ? (double)eg__lower_node(p->l, node->scan)->attributes.scan.length : 1;
        flops += op->flops ? times * op->flops(graph, node) : 0;
        bytes += times * bytes_of(node);
        for (unsigned k = 0; k < eg__read_count(node); k++)
            bytes += times * bytes_of(eg__node_at(graph, eg__node_input(graph, node, k)));
    }
    return where->host.step_seconds + flops / where->host.flops_per_second +
           bytes / where->host.bytes_per_second;
}

static double measured(const partition *p, const eg__device *device) {
    const eg__placement *where = p->l->options->placement;
    return where->measured
               ? where->measured(where->measured_user, device, p->l->graph, p->node_count, p->nodes)
               : -1;
}

/* Nodes that a part computes beside its units: views, and values derived from parameters. */
typedef struct beside {
    const partition *p;
    size_t device;
    bool can;
} beside;

static void ask_beside(void *user, uint32_t id) {
    beside *b = user;
    const partition *p = b->p;
    const eg__lowering *l = p->l;
    const eg__device *device = l->options->placement->devices[b->device];
    const eg__node *node = eg__lower_node(l, id);
    unsigned char *answer = &p->can[b->device * (l->graph->size + 1) + id];
    const bool is_derived = l->region[id] == EG__REGION_PROLOGUE;
    if (!node->input_count || !(is_derived || eg__is_view(l, id)) || !b->can) return;
    if (!*answer) {
        *answer = device->can(device, l->graph, id) ? YES : NO;
        if (*answer == YES) {
            reads r = {l, ask_beside, b};
            read_inputs(&r, id);
            if (!b->can) *answer = NO;
        }
    }
    if (*answer == NO) b->can = false;
}

static double device_seconds(const partition *p, size_t index, uint32_t unit) {
    const eg__device *device = p->l->options->placement->devices[index];
    beside b = {p, index, p->node_count != 0};
    for (size_t i = 0; i < p->node_count && b.can; i++)
        b.can = device->can(device, p->l->graph, p->nodes[i]);
    if (b.can) eg__lower_reads(p->l, unit, ask_beside, &b);
    if (!b.can) return -1;
    const double known = measured(p, device);
    return known >= 0 ? known : device->cost(device, p->l->graph, p->node_count, p->nodes);
}

static void find_costs(partition *p) {
    eg__lowering *l = p->l;
    for (size_t i = 0; i < p->units; i++) {
        const uint32_t unit = l->regions[EG__REGION_MAIN].units[i];
        p->node_count = 0;
        eg__lower_members(l, unit, add_member, p);
        const double known = measured(p, NULL);
        p->host[i] = known >= 0 ? known : host_seconds(p);
        eg__lower_reads(l, unit, find_quantized, p);
        for (size_t d = 0; d < p->devices; d++)
            p->seconds[d * p->units + i] = device_seconds(p, d, unit);
        p->lowest[i] = p->highest[i] = i;
    }
}

/* ---- bytes that cross the boundaries of a run that begins at `first` */
typedef struct crossing {
    partition *p;
    size_t first, position;
    double in, out;
} crossing;

static void cross_in(void *user, uint32_t id) {
    crossing *c = user;
    const eg__lowering *l = c->p->l;
    if (c->p->seen[id] == c->first + 1 || l->region[id] == EG__REGION_PROLOGUE) return;
    c->p->seen[id] = (uint32_t)c->first + 1;
    const uint32_t origin = eg__lower_origin(l, id), unit = main_unit(l, origin);
    if (eg__lower_node(l, id)->scan || state_of(l, id)) return;
    if (!unit || l->units[unit].position < c->first) c->in += bytes_of(eg__lower_node(l, id));
}

static void cross_out(void *user, uint32_t id) {
    crossing *c = user;
    const eg__lowering *l = c->p->l;
    const eg__node *node = eg__lower_node(l, id);
    if (node->scan || node->op == EG__GRAPH_scan || eg__kv_of(l->graph, id)) return;
    const uint32_t last = c->p->last[id];
    if (last != EG__NEVER && last <= c->position) return; /* last used by this unit */
    c->out += bytes_of(node);
    if (last != EG__NEVER) c->p->expires[last] += bytes_of(node);
}

/* All runs that begin at `first`, each one unit longer than the one before. */
static void extend(partition *p, size_t first) {
    const eg__placement *where = p->l->options->placement;
    const uint32_t *order = p->l->regions[EG__REGION_MAIN].units;
    crossing c = {p, first, 0, 0, 0};
    double sum[EG__DEVICES_MAX] = {0};
    size_t lowest = SIZE_MAX, highest = 0, able = p->devices;
    bool can[EG__DEVICES_MAX] = {false};
    for (size_t d = 0; d < p->devices; d++) can[d] = true;
    for (size_t i = first; i < p->units; i++) p->expires[i] = 0;
    for (size_t end = first + 1; end <= p->units && able; end++) {
        const size_t at = end - 1;
        c.position = at;
        c.out -= p->expires[at];
        eg__lower_reads(p->l, order[at], cross_in, &c);
        eg__lower_members(p->l, order[at], cross_out, &c);
        lowest = eg__min(lowest, p->lowest[at]);
        highest = eg__max(highest, p->highest[at]);
        if (lowest < first) return;
        for (size_t d = 0; d < p->devices; d++) {
            if (!can[d]) continue;
            const double seconds = p->seconds[d * p->units + at];
            const eg__device *device = where->devices[d];
            can[d] = seconds >= 0;
            able -= !can[d];
            sum[d] += seconds;
            if (!can[d] || highest >= end) continue;
            const double rate = device->bytes_per_second;
            const double all = p->best[first] + sum[d] + device->launch_seconds +
                               (rate > 0 ? (c.in + c.out) / rate : 0);
            if (all < p->best[end]) {
                p->best[end] = all;
                p->from[end] = first;
                p->on[end] = (uint32_t)d + 1;
            }
        }
    }
}

static void find_last(void *user, uint32_t id) {
    partition *p = user;
    if (!eg__lower_node(p->l, id)->scan)
        p->last[id] = eg__lower_last_use(p->l, id, EG__REGION_MAIN);
}

static void solve(partition *p) {
    for (size_t i = 0; i < p->units; i++)
        eg__lower_members(p->l, p->l->regions[EG__REGION_MAIN].units[i], find_last, p);
    for (size_t i = 1; i <= p->units; i++) p->best[i] = INFINITY;
    for (size_t i = 0; i < p->units; i++) {
        if (p->best[i] + p->host[i] < p->best[i + 1]) {
            p->best[i + 1] = p->best[i] + p->host[i];
            p->from[i + 1] = i;
            p->on[i + 1] = 0;
        }
        extend(p, i);
    }
}

/* ---- parts */
typedef struct holder {
    eg__lowering *l;
    uint32_t part;
} holder;

static void hold_state(void *user, uint32_t id) {
    const holder *h = user;
    const uint32_t state = state_of(h->l, id);
    if (state) h->l->part_of_state[state] = h->part;
}

static void pin_states(eg__lowering *l, uint32_t part) {
    holder h = {l, part};
    for (size_t i = l->parts[part - 1].first; i < l->parts[part - 1].end; i++)
        eg__lower_reads(l, l->regions[EG__REGION_MAIN].units[i], hold_state, &h);
}

static void make_parts(partition *p) {
    eg__lowering *l = p->l;
    size_t count = 0;
    for (size_t end = p->units; end; end = p->from[end]) count += p->on[end] != 0;
    if (!count) return;
    l->parts = eg__lower_array(l, count, sizeof *l->parts);
    l->part_of_unit = eg__lower_array(l, l->unit_count, sizeof *l->part_of_unit);
    l->part_of_state = eg__lower_array(l, l->graph->size + 1, sizeof *l->part_of_state);
    if (l->status) return;
    l->part_count = count;
    for (size_t end = p->units; end; end = p->from[end]) {
        if (!p->on[end]) continue;
        eg__lower_part *part = &l->parts[--count];
        *part = (eg__lower_part){.device = l->options->placement->devices[p->on[end] - 1],
                                 .first = p->from[end],
                                 .end = end};
        for (size_t i = part->first; i < part->end; i++)
            l->part_of_unit[l->regions[EG__REGION_MAIN].units[i]] = (uint32_t)count + 1;
    }
    for (size_t i = 0; i < l->part_count; i++) pin_states(l, (uint32_t)i + 1);
}

void eg__lower_partition(eg__lowering *l) {
    const eg__placement *where = l->options->placement;
    partition p = {.l = l, .units = l->regions[EG__REGION_MAIN].unit_count};
    if (!where || !where->count || !p.units) return;
    p.devices = where->count;
    const size_t nodes = l->graph->size + 1;
    p.host = eg__lower_array(l, p.units, sizeof *p.host);
    p.seconds = eg__lower_array(l, p.units * p.devices, sizeof *p.seconds);
    p.lowest = eg__lower_array(l, p.units, sizeof *p.lowest);
    p.highest = eg__lower_array(l, p.units, sizeof *p.highest);
    p.can = eg__lower_array(l, nodes * p.devices, 1);
    p.last = eg__lower_array(l, nodes, sizeof *p.last);
    p.nodes = eg__lower_array(l, nodes, sizeof *p.nodes);
    p.expires = eg__lower_array(l, p.units, sizeof *p.expires);
    p.seen = eg__lower_array(l, nodes, sizeof *p.seen);
    p.best = eg__lower_array(l, p.units + 1, sizeof *p.best);
    p.from = eg__lower_array(l, p.units + 1, sizeof *p.from);
    p.on = eg__lower_array(l, p.units + 1, sizeof *p.on);
    if (!l->status) find_costs(&p);
    if (!l->status) find_pins(&p);
    if (!l->status) solve(&p);
    if (!l->status) make_parts(&p);
    void *const all[] = {p.can,   p.last,    p.host, p.seconds, p.lowest, p.highest,
                         p.nodes, p.expires, p.seen, p.best,    p.from,   p.on};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) eg__memory_give(l->memory, all[i]);
}
