/* The liquid time-constant cell: conductances between neurons, integrated by a fused implicit step. */
#include "nn/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- which synapses there are, in rows of EG__LANES: a lane for each target, those with most synapses
 * first, so that little padding is needed */
typedef struct lanes {
    int32_t *source, *target, *index; /* index: into the dense matrix, -1 = padding */
    size_t count;
} lanes;

typedef struct fan {
    uint32_t target, synapses;
} fan;

static int more_first(const void *a, const void *b) {
    const fan *x = a, *y = b;
    if (x->synapses != y->synapses) return x->synapses < y->synapses ? 1 : -1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static void fill_row(lanes *l, const int8_t *exists, uint32_t units, const fan *fans, size_t group,
                     uint32_t row) {
    for (size_t lane = 0; lane < EG__LANES; lane++) {
        const size_t at = l->count++, k = group + lane;
        l->source[at] = 0;
        l->target[at] = l->index[at] = -1;
        if (k >= units || fans[k].synapses <= row) continue;
        const uint32_t t = fans[k].target;
        uint32_t left = row, s = 0;
        while (!exists[s * units + t] || left--) s++;
        l->source[at] = (int32_t)s;
        l->target[at] = (int32_t)t;
        l->index[at] = (int32_t)(s * units + t);
    }
}

/* False when there is no memory. */
static bool lanes_make(eg__memory *memory, const int8_t *exists, uint32_t sources, uint32_t units,
                       lanes *l) {
    fan *fans = eg__memory_take_array(memory, EG_TAG_GRAPH, units + 1, sizeof *fans, NULL);
    if (!fans) return false;
    for (uint32_t t = 0; t < units; t++) {
        fans[t].target = t;
        for (uint32_t s = 0; s < sources; s++) fans[t].synapses += exists[s * units + t] != 0;
    }
    qsort(fans, units, sizeof *fans, more_first);
    size_t rows = 0;
    for (size_t group = 0; group < units; group += EG__LANES) rows += fans[group].synapses;
    const size_t room = rows * EG__LANES + 1;
    l->source = eg__memory_take_array(memory, EG_TAG_GRAPH, room, sizeof *l->source, NULL);
    l->target = eg__memory_take_array(memory, EG_TAG_GRAPH, room, sizeof *l->target, NULL);
    l->index = eg__memory_take_array(memory, EG_TAG_GRAPH, room, sizeof *l->index, NULL);
    const bool fits = l->source && l->target && l->index;
    for (size_t group = 0; fits && group < units; group += EG__LANES)
        for (uint32_t row = 0; row < fans[group].synapses; row++)
            fill_row(l, exists, units, fans, group, row);
    eg__memory_give(memory, fans);
    return fits;
}

static void lanes_free(eg__memory *memory, lanes *l) {
    eg__memory_give(memory, l->source);
    eg__memory_give(memory, l->target);
    eg__memory_give(memory, l->index);
}

/* ---- nodes */

/* softplus, unless the user constrains them */
static eg_node positive(eg__builder *b, eg_node x) {
    return b->layer->explicit_constraints ? x : eg_softplus(b->graph, x);
}

/* One of the dense matrices at the synapses that exist. */
static eg_node at_synapses(eg__builder *b, const char *prefix, const char *name, uint64_t size,
                           eg_node index) {
    eg_node dense = eg__builder_parameter(b, "rnn_cell.%s%s", prefix, name);
    return eg_gather(b->graph, eg_reshape(b->graph, dense, 1, &size), index);
}

typedef struct synapses {
    eg_synapse_nodes nodes;
    bool none; /* no synapse at all */
} synapses;

static synapses make_synapses(eg__builder *b, const char *prefix, const int8_t *exists,
                              uint32_t sources) {
    eg_graph *g = b->graph;
    const uint32_t units = b->layer->units;
    synapses s = {.none = false};
    lanes l = {0};
    if (!lanes_make(b->model->memory, exists, sources, units, &l)) {
        eg__graph_mistake(g, EG_ERR_MEMORY, "no memory for a list of synapses");
        lanes_free(b->model->memory, &l);
        return s;
    }
    s.none = l.count == 0;
    if (!s.none) {
        const uint64_t size = (uint64_t)sources * units;
        const eg_tensor list = {EG_I32, 1, {l.count}, l.index};
        const eg_node index = eg_constant(g, &list);
        s.nodes.weight = positive(b, at_synapses(b, prefix, "w", size, index));
        s.nodes.middle = at_synapses(b, prefix, "mu", size, index);
        s.nodes.slope = at_synapses(b, prefix, "sigma", size, index);
        s.nodes.reversal = at_synapses(b, prefix, "erev", size, index);
        s.nodes.source = eg_constant(g, &(eg_tensor){EG_I32, 1, {l.count}, l.source});
        s.nodes.target = eg_constant(g, &(eg_tensor){EG_I32, 1, {l.count}, l.target});
    }
    lanes_free(b->model->memory, &l);
    return s;
}

/* Adds the sums over the synapses from v to current and conductance. */
static void add_synapses(eg__builder *b, synapses *s, eg_node v, eg_node *current,
                         eg_node *conductance) {
    eg_graph *g = b->graph;
    const uint32_t units = b->layer->units;
    if (s->none) return;
    s->nodes.v = v;
    eg_node sums = eg_synapses(g, &s->nodes, units);
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
    synapses sensory = make_synapses(b, "sensory_", layer->sensory, layer->inputs);
    synapses recurrent = make_synapses(b, "", layer->recurrent, layer->units);
    eg_node leak = positive(b, eg__builder_parameter(b, "rnn_cell.gleak"));
    eg_node rest = eg_mul(g, leak, eg__builder_parameter(b, "rnn_cell.vleak"));
    eg_node capacity = eg_mul(g, positive(b, eg__builder_parameter(b, "rnn_cell.cm")),
                              eg_scalar(g, layer->unfolds));
    if (span.id) capacity = eg_div(g, capacity, span);
    /* what stays the same over the unfolds: leak and senses */
    eg_node current = rest, conductance = eg_add(g, leak, eg_scalar(g, layer->epsilon));
    add_synapses(b, &sensory, map_input(b, x), &current, &conductance);
    conductance = eg_add(g, conductance, capacity);
    eg_node v = h;
    for (uint32_t i = 0; i < layer->unfolds; i++) {
        eg_node c = eg_add(g, current, eg_mul(g, capacity, v)), d = conductance;
        add_synapses(b, &recurrent, v, &c, &d);
        v = eg_div(g, c, d);
    }
    /* no time, no change: the capacity would be infinite */
    return span.id ? eg_select(g, eg_eq(g, span, eg_scalar(g, 0)), h, v) : v;
}
