/* The definition of every graph: evaluation in double, node by node. For checks, not for speed. */
#include "graph/passes/order.h"

#include <math.h>
#include <string.h>

typedef struct evaluation {
    eg_graph *graph;
    double **value; /* per node; NULL until it is computed */
    bool training;
    uint64_t seed, time;
    eg__culprit *culprit; /* NULL = not searching */
} evaluation;

/* Rounds values to f32 and records the first that is not finite. */
static void watch(const evaluation *e, uint32_t id) {
    const eg__node *node = &e->graph->nodes[id];
    if (!e->culprit || node->type != EG_F32 || node->op == EG__GRAPH_constant) return;
    for (uint64_t i = 0; i < eg__node_elements(node); i++) {
        double *value = &e->value[id][i];
        *value = (double)(float)*value;
        if (e->culprit->node || isfinite(*value)) continue;
        *e->culprit = (eg__culprit){id, i, e->time, *value};
    }
}

static double *room_for(evaluation *e, uint32_t id) {
    const eg__node *node = &e->graph->nodes[id];
    if (!e->value[id])
        e->value[id] = eg__memory_take_array(e->graph->memory, EG_TAG_GRAPH,
                                             (size_t)eg__node_elements(node), sizeof(double), NULL);
    return e->value[id];
}

/* The time step for dropout's random bits. */
static uint64_t time_of(const evaluation *e, const eg__node *node) {
    return node->scan ? e->time + e->graph->nodes[node->scan].attributes.scan.first : 0;
}

static bool compute(evaluation *e, uint32_t id) {
    enum { MANY = 256 };
    const eg__node *node = &e->graph->nodes[id];
    const double *in[MANY];
    double *out = room_for(e, id);
    if (!out || node->input_count > MANY) return false;
    for (unsigned i = 0; i < node->input_count; i++)
        in[i] = e->value[eg__node_input(e->graph, node, i).id];
    if (eg__op_row(node->op)->draw) {
        const eg__chance chance = {e->training, e->seed, time_of(e, node)};
        eg__op_row(node->op)->draw(e->graph, node, in, out, &chance);
    } else if (eg__op_row(node->op)->evaluate)
        eg__op_row(node->op)->evaluate(e->graph, node, in, out);
    watch(e, id);
    return true;
}

/* ---- scans */
static bool is_output_of(const eg_graph *graph, const eg__node *node, uint32_t scan) {
    return eg__op_row(node->op)->scan_side == EG__SCAN_LEAVES &&
           eg__node_input(graph, node, 0).id == scan;
}

static bool begin(evaluation *e, uint32_t scan) {
    for (uint32_t i = 1; i <= e->graph->size; i++) {
        const eg__node *node = &e->graph->nodes[i];
        bool inside = node->scan == scan, leaves = is_output_of(e->graph, node, scan);
        if (!inside && !leaves) continue;
        double *to = room_for(e, i);
        if (!to) return false;
        size_t bytes = (size_t)eg__node_elements(node) * sizeof *to;
        if (leaves) memset(to, 0, bytes);
        if (inside && node->op == EG__GRAPH_carry)
            memcpy(to, e->value[eg__node_input(e->graph, node, 1).id], bytes);
    }
    return true;
}

/* The slot of a stack for the current step. */
static uint64_t place(const evaluation *e, const eg__node *stack) {
    const uint64_t every = stack->attributes.stack.every;
    const eg__node *scan = &e->graph->nodes[eg__node_input(e->graph, stack, 0).id];
    if (!every) return e->time;
    const uint64_t length = scan->attributes.scan.length;
    return (scan->attributes.scan.reverse ? length - 1 - e->time : e->time) / every;
}

static bool step(evaluation *e, uint32_t scan) {
    eg_graph *graph = e->graph;
    for (uint32_t i = 1; i <= graph->size; i++) {
        const eg__node *node = &graph->nodes[i];
        if (node->scan != scan || node->op == EG__GRAPH_carry) continue;
        uint64_t elements = eg__node_elements(node);
        if (node->op == EG__GRAPH_step)
            memcpy(e->value[i], e->value[eg__node_input(graph, node, 1).id] + e->time * elements,
                   (size_t)elements * sizeof(double));
        else if (!compute(e, i)) return false;
    }
    for (uint32_t i = 1; i <= graph->size; i++) {
        const eg__node *node = &graph->nodes[i];
        if (!is_output_of(graph, node, scan) || node->op == EG__GRAPH_last) continue;
        uint32_t from = eg__node_input(graph, node, 1).id;
        uint64_t elements = eg__node_elements(&graph->nodes[from]);
        double *to = e->value[i] + (node->op == EG__GRAPH_stack ? place(e, node) * elements : 0);
        for (uint64_t k = 0; k < elements; k++)
            to[k] = node->op == EG__GRAPH_stack ? e->value[from][k] : to[k] + e->value[from][k];
    }
    return true;
}

/* All carries change at once: an update that is itself a carry is read before it is overwritten. */
static bool advance(evaluation *e, uint32_t scan) {
    for (int copying = 1; copying >= 0; copying--)
        for (uint32_t i = 1; i <= e->graph->size; i++) {
            const eg__node *node = &e->graph->nodes[i];
            if (node->scan != scan || node->op != EG__GRAPH_carry) continue;
            const size_t elements = (size_t)eg__node_elements(node);
            if (copying) {
                double *fresh = eg__memory_take_array(e->graph->memory, EG_TAG_GRAPH, elements,
                                                      2 * sizeof *fresh, NULL);
                if (!fresh) return false;
                memcpy(fresh + elements, e->value[node->next], elements * sizeof *fresh);
                memcpy(fresh, e->value[i], elements * sizeof *fresh);
                eg__memory_give(e->graph->memory, e->value[i]);
                e->value[i] = fresh;
            } else memcpy(e->value[i], e->value[i] + elements, elements * sizeof(double));
        }
    return true;
}

static bool run_scan(evaluation *e, uint32_t scan) {
    const eg__node *node = &e->graph->nodes[scan];
    const uint64_t length = node->attributes.scan.length;
    bool fits = begin(e, scan);
    for (uint64_t t = 0; fits && t < length; t++) {
        e->time = node->attributes.scan.reverse ? length - 1 - t : t;
        fits = step(e, scan) && advance(e, scan);
    }
    e->time = 0;
    for (uint32_t i = 1; fits && i <= e->graph->size; i++) {
        const eg__node *out = &e->graph->nodes[i];
        if (out->op != EG__GRAPH_last || !is_output_of(e->graph, out, scan)) continue;
        memcpy(e->value[i], e->value[eg__node_input(e->graph, out, 1).id],
               (size_t)eg__node_elements(out) * sizeof(double));
    }
    return fits;
}

/* ---- everything */
static eg_status run(evaluation *e, const uint32_t *order, size_t size, size_t bindings,
                     const eg__binding *bound, eg_error *error) {
    for (size_t i = 0; i < size; i++) {
        const eg__node *node = &e->graph->nodes[order[i]];
        bool fits = true;
        if (node->op == EG__GRAPH_input || node->op == EG__GRAPH_parameter ||
            node->op == EG__GRAPH_state || node->op == EG__GRAPH_cache) {
            const double *from = NULL;
            for (size_t k = 0; k < bindings; k++)
                if (bound[k].leaf.id == order[i]) from = bound[k].data;
            if (!from)
                return eg__fail(error, EG_ERR_ARGUMENT, "%s '%s' has no value",
                                eg__node_operation(node), node->name);
            fits = room_for(e, order[i]) != NULL;
            if (fits)
                memcpy(e->value[order[i]], from, (size_t)eg__node_elements(node) * sizeof(double));
            if (fits) watch(e, order[i]);
        } else if (node->op == EG__GRAPH_scan) fits = run_scan(e, order[i]);
        else if (eg__op_row(node->op)->scan_side != EG__SCAN_LEAVES) fits = compute(e, order[i]);
        if (!fits) return eg__fail(error, EG_ERR_MEMORY, "no memory to evaluate node %u", order[i]);
    }
    return EG_OK;
}

static eg_status evaluate(evaluation *e, size_t bindings, const eg__binding *bound, size_t count,
                          const eg_node *outputs, double *const *out, eg_error *error) {
    eg_graph *graph = e->graph;
    eg_status status = eg_graph_check(graph, error);
    if (status) return status;
    uint32_t *order;
    size_t size;
    status = eg__graph_order(graph, count, outputs, &order, &size, error);
    if (status) return status;
    e->value =
        eg__memory_take_array(graph->memory, EG_TAG_GRAPH, graph->size + 1, sizeof *e->value, NULL);
    if (e->value) status = run(e, order, size, bindings, bound, error);
    else status = eg__fail(error, EG_ERR_MEMORY, "no memory to evaluate %u nodes", graph->size);
    for (size_t i = 0; !status && out && i < count; i++)
        memcpy(out[i], e->value[outputs[i].id],
               (size_t)eg__node_elements(eg__node_at(graph, outputs[i])) * sizeof(double));
    for (uint32_t i = 1; e->value && i <= graph->size; i++)
        eg__memory_give(graph->memory, e->value[i]);
    eg__memory_give(graph->memory, e->value);
    eg__memory_give(graph->memory, order);
    return status;
}

eg_status eg__graph_evaluate(eg_graph *graph, size_t bindings, const eg__binding *bound,
                             size_t count, const eg_node *outputs, double *const *out,
                             bool training, uint64_t seed, eg_error *error) {
    evaluation e = {.graph = graph, .training = training, .seed = seed};
    return evaluate(&e, bindings, bound, count, outputs, out, error);
}

eg_status eg__graph_hunt(eg_graph *graph, size_t bindings, const eg__binding *bound, size_t count,
                         const eg_node *outputs, bool training, uint64_t seed, eg__culprit *out,
                         eg_error *error) {
    *out = (eg__culprit){0};
    evaluation e = {.graph = graph, .training = training, .seed = seed, .culprit = out};
    return evaluate(&e, bindings, bound, count, outputs, NULL, error);
}
