/* Which nodes outside of scans have time as their first axis. A run with fewer steps computes only
 * that many of them; where a node mixes steps in a way that this analysis does not understand, the
 * length of the program is fixed. */
#include "graph/lower/lower.h"

typedef struct clock {
    eg__lowering *l;
    eg__clock known;
    uint32_t mixed; /* a node that mixes steps */
    unsigned turns;
    bool changed, checking;
} clock;

/* Checked when all time axes are known: a contraction over time needs time on both sides. */
static void mix(clock *c, uint32_t id) {
    if (c->checking && !c->mixed) c->mixed = id;
}

static void set(clock *c, uint32_t id, int axis) {
    if (axis < 0) return;
    if (c->known.axis[id]) { /* all pairs of steps: two time axes */
        if (c->known.axis[id] != axis + 1) mix(c, id);
        return;
    }
    const eg__node *node = eg__lower_node(c->l, id);
    if (node->shape[axis] % c->known.length) return;
    c->known.axis[id] = (unsigned char)(axis + 1);
    c->changed = true;
}

/* The time axis of a node, given that `axis` is the time axis of its input `input`; < 0 = none. */
static int through(const clock *c, uint32_t id, unsigned input, int axis) {
    const eg__node *node = eg__lower_node(c->l, id);
    const eg__op *op = eg__op_row(node->op);
    return op->time ? op->time(&c->known, node, input, axis) : EG__TIME_MIXED;
}

/* The reverse: whether a node whose first axis is time reads input `input` step by step along that
 * input's first axis. */
static int back(const clock *c, uint32_t id, unsigned input) {
    const eg__node *x = eg__lower_node(c->l, eg__lower_input(c->l, id, input));
    const bool says = !eg__op_row(eg__lower_node(c->l, id)->op)->time_is_forward;
    return x->rank && says && through(c, id, input, 0) == 0 ? 0 : EG__TIME_ENDS;
}

/* The node's time axis is not its first, so it is computed whole, although it reads an input of
 * which a shorter run has fewer steps. */
static bool reads_whole_input(const clock *c, uint32_t id) {
    const eg__lowering *l = c->l;
    const eg__node *node = eg__lower_node(l, id);
    if (node->scan || c->known.axis[id] < 2 || eg__is_view(l, id)) return false;
    for (unsigned i = 0; i < eg__read_count(node); i++) {
        const uint32_t origin = eg__lower_origin(l, eg__lower_input(l, id, i));
        const eg__node *input = eg__lower_node(l, origin);
        if (input->op == EG__GRAPH_input && input->kind != EG__INPUT_TIMED &&
            c->known.axis[origin] == 1)
            return true;
    }
    return false;
}

static void spread(clock *c, uint32_t id) {
    const eg__lowering *l = c->l;
    const eg__node *node = eg__lower_node(l, id);
    for (unsigned i = 0; i < node->input_count; i++) {
        const uint32_t input = eg__lower_input(l, id, i);
        const bool is_parameter = l->region[input] == EG__REGION_PROLOGUE;
        if (node->op == EG__GRAPH_step && i == 1) set(c, input, 0);
        else if (!node->scan && c->known.axis[id] == 1 && !is_parameter)
            set(c, input, back(c, id, i));
        if (!c->known.axis[input]) continue;
        if (node->scan && node->op != EG__GRAPH_step) mix(c, id); /* the body reads all steps */
        else {
            const int axis = through(c, id, i, c->known.axis[input] - 1);
            if (axis == EG__TIME_MIXED) mix(c, id);
            else set(c, id, axis);
        }
    }
    if (reads_whole_input(c, id)) mix(c, id);
    if (node->op == EG__GRAPH_carry && c->known.axis[node->next]) mix(c, id);
    if (node->op == EG__GRAPH_stack) set(c, id, 0);
    if (node->op == EG__GRAPH_input && node->kind == EG__INPUT_TIMED) set(c, id, 0);
}

void eg__lower_time(eg__lowering *l) {
    clock c = {.l = l, .known = {.graph = l->graph}};
    bool equal = true;
    for (uint32_t r = EG__REGION_BODIES; r < l->region_count; r++) {
        uint64_t length = eg__lower_node(l, l->regions[r].scan)->attributes.scan.length;
        equal = equal && (!c.known.length || c.known.length == length);
        c.known.length = length;
    }
    if (l->options->length) {
        equal = equal && (!c.known.length || c.known.length == l->options->length);
        c.known.length = l->options->length;
    }
    if (!c.known.length || !equal || c.known.length == 1) return;
    c.known.axis = eg__lower_array(l, l->graph->size + 1, 1);
    if (!c.known.axis) return;
    do { /* repeated until nothing changes; a last pass finds the nodes that mix steps */
        c.checking = !c.changed && c.turns;
        c.changed = false;
        for (uint32_t i = 1; i <= l->graph->size; i++)
            if (l->reachable[i]) spread(&c, i);
        c.turns++;
    } while (c.changed || !c.checking);
    if (c.mixed) {
        l->program->length_fixed = true;
        l->program->length_node = c.mixed;
    } else {
        l->length = l->program->length = (size_t)c.known.length;
        for (uint32_t i = 1; i <= l->graph->size; i++)
            l->timed[i] = c.known.axis[i] == 1 && l->region[i] == EG__REGION_MAIN;
    }
    eg__memory_give(l->memory, c.known.axis);
}
