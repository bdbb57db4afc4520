/* The liquid time-constant cell: conductances between neurons, integrated by a fused implicit step. */
#include "graph/ops/synapses.h"
#include "nn/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list of synapses in rows of EG__LANES: a lane per target or per part of its synapses,
 * longest lanes first, so that little padding is needed */
typedef struct lanes {
    int32_t *ends;
    size_t count;
} lanes;

/* `length` synapses of a target after its first `from`; the next one has a source >= `source`. */
typedef struct lane {
    uint32_t target, from, length, source;
} lane;

static int longer_first(const void *a, const void *b) {
    const lane *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Splits the synapses of every target into equal lanes of at most `limit`; returns the number of
 * lanes. */
static size_t cut(const uint32_t *fan, uint32_t units, uint32_t limit, lane *out) {
    size_t count = 0;
    for (uint32_t t = 0; t < units; t++) {
        const uint32_t parts = eg__ceil_div(fan[t], limit);
        for (uint32_t i = 0, from = 0, end; i < parts; i++, from = end) {
            end = (uint32_t)((uint64_t)fan[t] * (i + 1) / parts);
            out[count++] = (lane){t, from, end - from, 0};
        }
    }
    qsort(out, count, sizeof *out, longer_first);
    return count;
}

static size_t rows_of(const lane *list, size_t count) {
    size_t rows = 0;
    for (size_t group = 0; group < count; group += EG__LANES) rows += list[group].length;
    return rows;
}

enum { GROUP_ROWS = 2 }; /* the cost of adding the sums of a group to its targets, in rows */

/* The cost of a list, in rows. Groups must begin with different targets. */
static size_t cost_of(const lane *list, size_t count) {
    for (size_t group = EG__LANES; group < count; group += EG__LANES)
        if (list[group].target == list[group - EG__LANES].target) return SIZE_MAX;
    return rows_of(list, count) + GROUP_ROWS * eg__ceil_div(count, EG__LANES);
}

/* A lower bound: the shortest lanes that could cost less than `cost` if all were full. */
static uint32_t shortest_limit(size_t synapses, uint32_t most, size_t cost) {
    uint32_t limit = most;
    while (limit > 1 && (synapses + GROUP_ROWS * (synapses / (limit - 1))) / EG__LANES < cost)
        limit--;
    return limit;
}

/* The cheapest split into lanes; tries long lanes first, so that splits are made only where they
 * pay. */
static uint32_t best_limit(const uint32_t *fan, uint32_t units, uint32_t most, uint32_t shortest,
                           lane *list) {
    uint32_t best = most;
    size_t least = SIZE_MAX;
    for (uint32_t limit = most; limit >= shortest; limit--) {
        const size_t cost = cost_of(list, cut(fan, units, limit, list));
        if (cost >= least) continue;
        least = cost;
        best = limit;
    }
    return best;
}

static void fill_row(lanes *l, const int8_t *exists, uint32_t units, lane *list, size_t count,
                     size_t group, uint32_t row) {
    for (size_t k = group; k < group + EG__LANES; k++) {
        const size_t at = l->count++;
        l->ends[at] = EG__NO_SYNAPSE;
        if (k >= count || list[k].length <= row) continue;
        const uint32_t t = list[k].target;
        uint32_t s = list[k].source, left = row ? 0 : list[k].from;
        while (!exists[(size_t)s * units + t] || left--) s++;
        list[k].source = s + 1;
        l->ends[at] = eg__synapse_ends(s, t);
    }
}

static bool lanes_fill(eg__memory *memory, const int8_t *exists, uint32_t units, lane *list,
                       size_t count, lanes *l) {
    const size_t bytes = rows_of(list, count) * EG__LANES * sizeof(int32_t);
    l->ends = eg__numbers_take(memory, bytes, NULL);
    if (!l->ends) return false;
    for (size_t group = 0; group < count; group += EG__LANES)
        for (uint32_t row = 0; row < list[group].length; row++)
            fill_row(l, exists, units, list, count, group, row);
    return true;
}

/* False when there is no memory. */
static bool lanes_make(eg__memory *memory, const int8_t *exists, uint32_t sources, uint32_t units,
                       lanes *l) {
    size_t synapses = 0;
    uint32_t most = 0;
    uint32_t *fan = eg__memory_take_array(memory, EG_TAG_GRAPH, units + 1, sizeof *fan, NULL);
    for (uint32_t t = 0; fan && t < units; t++) {
        for (uint32_t s = 0; s < sources; s++) fan[t] += exists[s * units + t] != 0;
        synapses += fan[t];
        most = eg__max(most, fan[t]);
    }
    lane *list = eg__memory_take_array(memory, EG_TAG_GRAPH, units + 1, sizeof *list, NULL);
    bool fits = fan && list;
    if (fits && most) {
        const size_t uncut = cost_of(list, cut(fan, units, most, list));
        const uint32_t shortest = shortest_limit(synapses, most, uncut);
        eg__memory_give(memory, list);
        list = eg__memory_take_array(memory, EG_TAG_GRAPH, units + synapses / shortest + 1,
                                     sizeof *list, NULL);
        fits = list != NULL;
        const uint32_t limit = fits ? best_limit(fan, units, most, shortest, list) : 0;
        fits = fits && lanes_fill(memory, exists, units, list, cut(fan, units, limit, list), l);
    }
    eg__memory_give(memory, fan);
    eg__memory_give(memory, list);
    return fits;
}

/* ---- nodes */

/* softplus, unless the user constrains them */
static eg_node positive(eg__builder *b, eg_node x) {
    return b->layer->explicit_constraints ? x : eg_softplus(b->graph, x);
}

/* One of the dense matrices at the synapses that exist. */
static eg_node at_synapses(eg__builder *b, const char *prefix, const char *name, eg_node ends) {
    eg_node dense = eg__builder_parameter(b, "rnn_cell.%s%s", prefix, name);
    return eg__gather_ends(b->graph, dense, ends, b->layer->units);
}

typedef struct synapses {
    eg_synapse_nodes nodes;
    eg_node ends;
    bool none; /* no synapse at all */
} synapses;

static synapses make_synapses(eg__builder *b, const char *prefix, const int8_t *exists,
                              uint32_t sources) {
    eg_graph *g = b->graph;
    synapses s = {.none = false};
    lanes l = {0};
    if (!lanes_make(b->model->memory, exists, sources, b->layer->units, &l)) {
        eg__graph_mistake(g, EG_ERR_MEMORY, "no memory for a list of synapses");
        return s;
    }
    s.none = l.count == 0;
    if (!s.none) { /* the graph owns the list now */
        s.ends = eg__graph_constant(g, &(eg_tensor){EG_I32, 1, {l.count}, l.ends});
        s.nodes.weight = positive(b, at_synapses(b, prefix, "w", s.ends));
        s.nodes.middle = at_synapses(b, prefix, "mu", s.ends);
        s.nodes.slope = at_synapses(b, prefix, "sigma", s.ends);
        s.nodes.reversal = at_synapses(b, prefix, "erev", s.ends);
    }
    return s;
}

/* Adds the sums over the synapses from v to current and conductance. */
static void add_synapses(eg__builder *b, synapses *s, eg_node v, eg_node *current,
                         eg_node *conductance) {
    eg_graph *g = b->graph;
    const uint32_t units = b->layer->units;
    if (s->none) return;
    s->nodes.v = v;
    eg_node sums = eg__synapses(g, &s->nodes, s->ends, units);
    *current = eg_add(g, *current, eg_slice(g, sums, 1, 0, units));
    *conductance = eg_add(g, *conductance, eg_slice(g, sums, 1, units, units));
}

static eg_node map_input(eg__builder *b, eg_node x) {
    eg_graph *g = b->graph;
    if (b->layer->input_map != EG__MAP_NONE)
        x = eg_mul(g, x, eg__builder_parameter(b, "rnn_cell.input_w"));
    if (b->layer->input_map == EG__MAP_AFFINE)
        x = eg_add(g, x, eg__builder_parameter(b, "rnn_cell.input_b"));
    return x;
}

eg_node eg__ltc_step(eg__builder *b, eg_node x, eg_node h, eg_node span) {
    eg_graph *g = b->graph;
    const eg__layer *layer = b->layer;
    synapses sensory = make_synapses(b, "sensory_", layer->wiring->sensory, layer->inputs);
    synapses recurrent = make_synapses(b, "", layer->wiring->adjacency, layer->units);
    eg_node leak = positive(b, eg__builder_parameter(b, "rnn_cell.gleak"));
    eg_node rest = eg_mul(g, leak, eg__builder_parameter(b, "rnn_cell.vleak"));
    eg_node capacity = eg_mul(g, positive(b, eg__builder_parameter(b, "rnn_cell.cm")),
                              eg_scalar(g, layer->unfolds));
    if (span.id) capacity = eg_div(g, capacity, span);
    /* constant over the unfolds: leak and sensory inputs */
    eg_node current = rest, conductance = eg_add(g, leak, eg_scalar(g, layer->epsilon));
    add_synapses(b, &sensory, map_input(b, x), &current, &conductance);
    conductance = eg_add(g, conductance, capacity);
    eg_node v = h;
    for (uint32_t i = 0; i < layer->unfolds; i++) {
        eg_node c = eg_add(g, current, eg_mul(g, capacity, v)), d = conductance;
        add_synapses(b, &recurrent, v, &c, &d);
        v = eg_div(g, c, d);
    }
    /* without elapsed time nothing changes: cm / 0 would be infinite */
    return span.id ? eg_select(g, eg_eq(g, span, eg_scalar(g, 0)), h, v) : v;
}
