/* Which nodes outside of scans have time as their first axis. A run with fewer steps computes only
 * that many of them; where something mixes steps in a way that this cannot follow, the length of the
 * program is fixed. */
#include "graph/lower/lower.h"

typedef struct clock {
    eg__lowering *l;
    unsigned char *axis; /* per node: 0 = time is no axis of it, else 1 + the axis */
    uint64_t length;
    uint32_t mixed; /* a node that mixes steps */
    unsigned turns;
    bool changed, checking;
} clock;

/* Judged when all is known: a product over time needs both its sides to have it. */
static void mix(clock *c, uint32_t id) {
    if (c->checking && !c->mixed) c->mixed = id;
}

static void set(clock *c, uint32_t id, int axis) {
    if (axis < 0) return;
    if (c->axis[id]) { /* every step with every other one: two axes of time */
        if (c->axis[id] != axis + 1) mix(c, id);
        return;
    }
    const eg__node *node = eg__lower_node(c->l, id);
    if (node->shape[axis] % c->length) return;
    c->axis[id] = (unsigned char)(axis + 1);
    c->changed = true;
}

/* The axis of `node` that an axis of its broadcast input is seen as. */
static int aligned(const eg__node *node, const eg__node *in, int axis) {
    return axis + (int)node->rank - (int)in->rank;
}

static bool same_until(const eg__node *a, const eg__node *b, int axis) {
    for (int i = 0; i <= axis; i++)
        if ((unsigned)i >= a->rank || (unsigned)i >= b->rank || a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* A product: time among the leading axes or the rows of a stays; a contraction over it is one sum
 * over fewer rows, where both sides have it first. */
static int through_matmul(clock *c, uint32_t id, unsigned input, int axis) {
    const eg__node *node = eg__lower_node(c->l, id);
    const eg__node *x = eg__lower_node(c->l, eg__lower_input(c->l, id, input));
    const eg__matmul_attributes *sides = &node->attributes.matmul;
    const bool transposed = input ? sides->b_transposed : sides->a_transposed;
    if (axis < (int)x->rank - 2) return aligned(node, x, axis);
    const bool is_row = (axis == (int)x->rank - 2) != transposed;
    if (input == 0 && is_row) return (int)node->rank - 2;
    if (input == 1 && !is_row) return (int)node->rank - 1;
    const eg__node *other = eg__lower_node(c->l, eg__lower_input(c->l, id, !input));
    const bool both = sides->a_transposed && !sides->b_transposed && x->rank == 2 &&
                      other->rank == 2 && axis == 0 &&
                      c->axis[eg__lower_input(c->l, id, !input)] == 1;
    if (!both) mix(c, id);
    return -1;
}

/* The axis of a node that has time because input `input` has it as `axis`; -1 = none. */
static int through(clock *c, uint32_t id, unsigned input, int axis) {
    const eg__node *node = eg__lower_node(c->l, id);
    const eg__node *x = eg__lower_node(c->l, eg__lower_input(c->l, id, input));
    switch (node->op) {
    case EG__GRAPH_unary:
    case EG__GRAPH_binary:
    case EG__GRAPH_select:
    case EG__GRAPH_broadcast: return aligned(node, x, axis);
    case EG__GRAPH_again: return input ? -1 : axis;
    case EG__GRAPH_dropout: /* it counts the elements */
        if (axis == 0) return 0;
        break;
    case EG__GRAPH_reshape:
        if (axis == 0 && node->rank && node->shape[0] % c->length == 0) return 0;
        if (same_until(node, x, axis)) return axis;
        break;
    case EG__GRAPH_transpose:
        for (unsigned i = 0; i < node->rank; i++)
            if ((int)node->attributes.transpose.order[i] == axis) return (int)i;
        break;
    case EG__GRAPH_slice:
        if ((int)node->attributes.slice.axis != axis) return axis;
        break;
    case EG__GRAPH_pad:
        if ((int)node->attributes.pad.axis != axis) return axis;
        break;
    case EG__GRAPH_concat:
        if ((int)node->attributes.concat.axis != axis) return axis;
        break;
    case EG__GRAPH_reduce: {
        const unsigned axes = node->attributes.reduce.axes;
        int to = axis;
        for (int i = 0; i < axis; i++) to -= (axes >> i & 1) && !node->attributes.reduce.keep;
        if (!(axes >> axis & 1)) return to;
        /* a sum is over the steps there are; the gradient of a mean knows how many it was built for */
        if (axis == 0 && node->kind == 0) return -1;
        break;
    }
    case EG__GRAPH_softmax:
    case EG__GRAPH_norm:
    case EG__GRAPH_argmax:
        if (axis + 1 < (int)x->rank) return axis;
        break;
    case EG__GRAPH_stored_gather:
    case EG__GRAPH_gather:
        if (input == 1) return axis;
        break;
    case EG__GRAPH_synapses:
    case EG__GRAPH_synapses_dv:
        if ((input == 0 || input == 7) && axis + 1 < (int)x->rank) return axis;
        break;
    case EG__GRAPH_synapses_dp: /* a sum over the steps there are */
        if ((input == 0 || input == 7) && axis == 0 && x->rank > 1 &&
            c->axis[eg__lower_input(c->l, id, 7 - input)] == 1)
            return -1;
        break;
    case EG__GRAPH_conv: /* samples are apart */
        if (input == 0 && axis == 0) return 0;
        break;
    case EG__GRAPH_stored_matmul:
    case EG__GRAPH_small_matmul:
        if (input == 0 && axis + 1 < (int)x->rank) return axis;
        break;
    case EG__GRAPH_matmul: return through_matmul(c, id, input, axis);
    case EG__GRAPH_step:
        if (axis == 0) return -1; /* it ends here */
        break;
    case EG__GRAPH_last: return -1;
    default: break; /* a stack or sum of what has all steps, too */
    }
    mix(c, id);
    return -1;
}

/* The axis of input `input` that a node with time first reads step by step; -1 = none. */
static int back(const clock *c, uint32_t id, unsigned input) {
    const eg__node *node = eg__lower_node(c->l, id);
    const eg__node *x = eg__lower_node(c->l, eg__lower_input(c->l, id, input));
    if (!x->rank) return -1;
    switch (node->op) {
    case EG__GRAPH_unary:
    case EG__GRAPH_binary:
    case EG__GRAPH_select:
    case EG__GRAPH_dropout:
    case EG__GRAPH_broadcast:
        return x->rank == node->rank && x->shape[0] == node->shape[0] ? 0 : -1;
    case EG__GRAPH_again: return input ? -1 : 0;
    case EG__GRAPH_reshape: return x->shape[0] % c->length == 0 ? 0 : -1;
    case EG__GRAPH_slice: return node->attributes.slice.axis != 0 ? 0 : -1;
    case EG__GRAPH_pad: return node->attributes.pad.axis != 0 ? 0 : -1;
    case EG__GRAPH_concat: return node->attributes.concat.axis != 0 ? 0 : -1;
    case EG__GRAPH_softmax:
    case EG__GRAPH_norm: return x->rank > 1 ? 0 : -1;
    case EG__GRAPH_matmul:
        if (input == 0 && x->rank == node->rank &&
            (x->rank > 2 || !node->attributes.matmul.a_transposed))
            return 0;
        return input == 1 && x->rank > 2 && x->rank == node->rank ? 0 : -1;
    case EG__GRAPH_stored_matmul:
    case EG__GRAPH_small_matmul: return input == 0 && x->rank > 1 ? 0 : -1;
    case EG__GRAPH_conv: return input == 0 ? 0 : -1;
    case EG__GRAPH_stored_gather:
    case EG__GRAPH_gather: return input == 1 ? 0 : -1;
    case EG__GRAPH_synapses:
    case EG__GRAPH_synapses_dv: return (input == 0 || input == 7) && x->rank > 1 ? 0 : -1;
    default: return -1;
    }
}

static void spread(clock *c, uint32_t id) {
    const eg__lowering *l = c->l;
    const eg__node *node = eg__lower_node(l, id);
    for (unsigned i = 0; i < node->input_count; i++) {
        const uint32_t input = eg__lower_input(l, id, i);
        const bool is_parameter = l->region[input] == EG__REGION_PROLOGUE;
        if (node->op == EG__GRAPH_step && i == 1) set(c, input, 0);
        else if (!node->scan && c->axis[id] == 1 && !is_parameter) set(c, input, back(c, id, i));
        if (!c->axis[input]) continue;
        if (node->scan && node->op != EG__GRAPH_step) mix(c, id); /* a body that sees all of it */
        else set(c, id, through(c, id, i, c->axis[input] - 1));
    }
    if (node->op == EG__GRAPH_carry && c->axis[node->next]) mix(c, id);
    if (node->op == EG__GRAPH_stack) set(c, id, 0);
}

void eg__lower_time(eg__lowering *l) {
    clock c = {.l = l};
    bool equal = true;
    for (uint32_t r = EG__REGION_BODIES; r < l->region_count; r++) {
        uint64_t length = eg__lower_node(l, l->regions[r].scan)->attributes.scan.length;
        equal = equal && (!c.length || c.length == length);
        c.length = length;
    }
    if (!c.length || !equal || c.length == 1) return;
    c.axis = eg__lower_array(l, l->graph->size + 1, 1);
    if (!c.axis) return;
    do { /* until nothing is new; a last turn finds what mixes */
        c.checking = !c.changed && c.turns;
        c.changed = false;
        for (uint32_t i = 1; i <= l->graph->size; i++)
            if (l->live[i]) spread(&c, i);
        c.turns++;
    } while (c.changed || !c.checking);
    if (c.mixed) {
        l->program->length_fixed = true;
        l->program->length_node = c.mixed;
    } else {
        l->length = l->program->length = (size_t)c.length;
        for (uint32_t i = 1; i <= l->graph->size; i++)
            l->timed[i] = c.axis[i] == 1 && l->region[i] == EG__REGION_MAIN;
    }
    eg__memory_give(l->memory, c.axis);
}
