/* synapses: conductance sums over a list of synapses, and its two gradients. Inputs: v [.., sources],
 * weight, middle, slope, reversal [count], ends i32 [count] (a constant of eg__synapse_ends). The result is [.., 2 targets]: currents, then conductances. synapses_dv has the
 * gradient of that as its last input and gives [.., sources]; synapses_dp gives [4, count], summed over
 * the batch. */
#include "graph/lower/lower.h"

#include <math.h>
#include <string.h>

enum { V, WEIGHT, MIDDLE, SLOPE, REVERSAL, ENDS, D };

eg_node eg__synapses(eg_graph *graph, const eg_synapse_nodes *n, eg_node ends, uint64_t targets) {
    const eg_node inputs[] = {n->v, n->weight, n->middle, n->slope, n->reversal, ends};
    eg__attributes attributes = {.synapses = {targets}};
    return eg__graph_add(graph, EG__GRAPH_synapses, 0, D, inputs, &attributes, NULL);
}

/* ---- packing sources and targets into one list */
static const eg__node *list_of(eg_graph *graph, eg_node list) {
    if (!list.id || list.id > graph->size) return NULL;
    const eg__node *node = eg__node_at(graph, list);
    return node->op == EG__GRAPH_constant && node->type == EG_I32 && node->rank == 1 ? node : NULL;
}

/* A target below 0 is padding; an end out of range is a mistake. */
static bool fill_ends(eg_graph *graph, uint64_t count, const int32_t *source, const int32_t *target,
                      int32_t *out) {
    for (uint64_t p = 0; p < count; p++) {
        if (source[p] < 0 || source[p] >= EG__SOURCES_MAX || target[p] >= EG__TARGETS_MAX) {
            eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                              "synapses: synapse %llu has source %d and target %d, out of "
                              "range",
                              (unsigned long long)p, source[p], target[p]);
            return false;
        }
        out[p] = target[p] < 0 ? EG__NO_SYNAPSE | source[p]
                               : eg__synapse_ends((uint32_t)source[p], (uint32_t)target[p]);
    }
    return true;
}

static eg_node join_ends(eg_graph *graph, const eg_synapse_nodes *n) {
    const eg__node *source = list_of(graph, n->source), *target = list_of(graph, n->target);
    if (!source || !target || source->shape[0] != target->shape[0])
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                 "synapses: source and target must be i32 constants of the same "
                                 "length");
    const uint64_t count = source->shape[0];
    eg_error reason = {EG_ERR_MEMORY, ""};
    int32_t *ends = eg__numbers_take(graph->memory, (size_t)count * sizeof *ends, &reason);
    if (!ends) return eg__graph_mistake(graph, reason.status, "synapses: %s", reason.message);
    if (!fill_ends(graph, count, source->data, target->data, ends)) {
        eg__numbers_give(graph->memory, ends);
        return (eg_node){0};
    }
    return eg__graph_constant(graph, &(eg_tensor){EG_I32, 1, {count}, ends});
}

eg_node eg_synapses(eg_graph *graph, const eg_synapse_nodes *n, uint64_t targets) {
    if (!graph || !n || graph->mistake.status) return (eg_node){0};
    return eg__synapses(graph, n, join_ends(graph, n), targets);
}

/* ---- what is known of a list: its largest ends, and whether it is in lanes */
typedef struct facts {
    int64_t sources, targets; /* that its ends are below; targets < 0: an end is none at all */
    bool in_lanes;
} facts;

static bool same_target(int32_t a, int32_t b) {
    return eg__synapse_target(a) == eg__synapse_target(b);
}

/* A list in rows of EG__LANES, each lane with a fixed target; see eg__synapse_list. */
static bool is_in_lanes(const int32_t *ends, uint64_t count) {
    if (count % EG__LANES) return false;
    for (uint64_t p = 0, first = 0; p < count; p += EG__LANES) {
        if (ends[p] < 0) return false;
        if (!same_target(ends[p], ends[first])) first = p;
        for (unsigned lane = 0; lane < EG__LANES; lane++)
            if (ends[p + lane] >= 0 && !same_target(ends[p + lane], ends[first + lane]))
                return false;
    }
    return true;
}

static facts find_facts(const int32_t *ends, uint64_t count) {
    int32_t source = -1, most = -1, least = 0;
    for (uint64_t p = 0; p < count; p++) {
        const int32_t from = (int32_t)eg__synapse_source(ends[p]);
        const int32_t to = eg__synapse_target(ends[p]);
        source = from > source ? from : source;
        most = to > most ? to : most;
        least = to < least ? to : least;
    }
    return (facts){source + 1, least < -1 ? -1 : most + 1, is_in_lanes(ends, count)};
}

/* Every pass infers every node again, and a list may have millions of synapses: looked at once. */
enum { KNOWN = 1, IN_LANES = 2, TARGETS_AT = 2, SOURCES_AT = 32 };
static facts facts_of(const eg__node *list) {
    int64_t *memo = list->data_is_lent ? NULL : eg__numbers_memo(list->data);
    const int64_t known = memo ? __atomic_load_n(memo, __ATOMIC_RELAXED) : 0;
    if (known)
        return (facts){known >> SOURCES_AT, ((known & UINT32_MAX) >> TARGETS_AT) - 1,
                       known & IN_LANES};
    const facts f = find_facts(list->data, list->shape[0]);
    const int64_t found =
        f.sources << SOURCES_AT | (f.targets + 1) << TARGETS_AT | f.in_lanes * IN_LANES | KNOWN;
    if (memo) __atomic_store_n(memo, found, __ATOMIC_RELAXED);
    return f;
}

static const eg__node *at(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

/* Checks that all three operations share. */
static eg_status check(const eg_graph *graph, const eg__node *node, eg_error *error) {
    const eg__node *v = at(graph, node, V), *weight = at(graph, node, WEIGHT);
    const uint64_t targets = node->attributes.synapses.targets;
    char a[160], b[160];
    if (v->type != EG_F32 || !v->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "sources are %s %s, needs f32 of rank 1 or more",
                        eg_type_name(v->type), eg__shape_text(v, a));
    if (targets > EG__TARGETS_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "%llu targets are more than %d",
                        (unsigned long long)targets, EG__TARGETS_MAX);
    for (unsigned i = WEIGHT; i <= ENDS; i++) {
        const eg__node *x = at(graph, node, i);
        if (x->type != (i < ENDS ? EG_F32 : EG_I32) || x->rank != 1 ||
            x->shape[0] != weight->shape[0])
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "input %u is %s %s, needs the length of the weights %s (f32; "
                            "the ends i32)",
                            i, eg_type_name(x->type), eg__shape_text(x, a),
                            eg__shape_text(weight, b));
    }
    if (at(graph, node, ENDS)->op != EG__GRAPH_constant)
        return eg__fail(error, EG_ERR_ARGUMENT, "the ends of synapses must be a constant");
    const facts known = facts_of(at(graph, node, ENDS));
    if (known.sources <= (int64_t)v->shape[v->rank - 1] && known.targets >= 0 &&
        known.targets <= (int64_t)targets)
        return EG_OK;
    const int32_t *ends = at(graph, node, ENDS)->data;
    for (uint64_t p = 0; p < weight->shape[0]; p++) {
        const size_t from = eg__synapse_source(ends[p]);
        const int32_t to = eg__synapse_target(ends[p]);
        if (from >= v->shape[v->rank - 1] || to < -1 || to >= (int64_t)targets)
            return eg__fail(error, EG_ERR_ARGUMENT,
                            "synapse %llu has source %zu and target %d, out of range",
                            (unsigned long long)p, from, to);
    }
    return EG_OK;
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg_status status = check(graph, node, error);
    eg__shape_copy(node, at(graph, node, V));
    if (!status) node->shape[node->rank - 1] = 2 * node->attributes.synapses.targets;
    return status;
}

static eg_status check_d(const eg_graph *graph, const eg__node *node, eg_error *error) {
    eg_status status = check(graph, node, error);
    const eg__node *d = at(graph, node, D), *v = at(graph, node, V);
    char text[160];
    if (status) return status;
    eg__node expected = *v;
    expected.shape[v->rank - 1] = 2 * node->attributes.synapses.targets;
    if (d->type == EG_F32 && eg__same_shape(d, &expected)) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "the gradient has shape %s, not that of the result",
                    eg__shape_text(d, text));
}
static eg_status infer_dv(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg__shape_copy(node, at(graph, node, V));
    return check_d(graph, node, error);
}
static eg_status infer_dp(const eg_graph *graph, eg__node *node, eg_error *error) {
    node->type = EG_F32;
    node->rank = 2;
    node->shape[0] = 4;
    node->shape[1] = at(graph, node, WEIGHT)->rank ? at(graph, node, WEIGHT)->shape[0] : 0;
    return check_d(graph, node, error);
}

static uint64_t samples(const eg__node *v) {
    const uint64_t sources = v->shape[v->rank - 1];
    return sources ? eg__node_elements(v) / sources : 0;
}

/* Per synapse and sample, as the reference has them. s = sigmoid(slope (v - middle)) takes 6: subtract,
 * multiply, negate, exp, add, divide.
 *   forward  s, times weight, multiply-add to the current, add to the conductance
 *   dv       s, k = multiply-add, k weight s (1 - s) slope is five, add
 *   dp       s, k = multiply-add, z = k weight s (1 - s) is four, sums of k s, z slope, z (v - middle)
 *            and current weight s: two, two, two and three */
enum { SIGMOID = 6, FORWARD = SIGMOID + 4, BACK_V = SIGMOID + 8, BACK_P = SIGMOID + 15 };
static double flops(const eg_graph *graph, const eg__node *node) {
    const double each = node->op == EG__GRAPH_synapses      ? FORWARD
                        : node->op == EG__GRAPH_synapses_dv ? BACK_V
                                                            : BACK_P;
    return each * (double)samples(at(graph, node, V)) * (double)at(graph, node, WEIGHT)->shape[0];
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    eg_node inputs[D + 1];
    bool parameters = false;
    for (unsigned i = 0; i < D; i++) {
        const eg_node input = eg__node_input(g, &n, i);
        inputs[i] = eg__backward_value(backward, input);
        parameters =
            parameters || (i >= WEIGHT && i <= REVERSAL && eg__backward_wants(backward, input));
    }
    inputs[D] = d;
    if (eg__backward_wants(backward, eg__node_input(g, &n, V)))
        eg__backward_give(
            backward, eg__node_input(g, &n, V),
            eg__graph_add(g, EG__GRAPH_synapses_dv, 0, D + 1, inputs, &n.attributes, NULL));
    if (!parameters) return;
    eg_node all = eg__graph_add(g, EG__GRAPH_synapses_dp, 0, D + 1, inputs, &n.attributes, NULL);
    for (unsigned i = WEIGHT; i <= REVERSAL; i++) {
        const eg_node input = eg__node_input(g, &n, i);
        const eg__node shape = *eg__node_at(g, input);
        if (eg__backward_wants(backward, input))
            eg__backward_give(backward, input,
                              eg_reshape(g, eg_slice(g, all, 0, i - WEIGHT, 1), 1, shape.shape));
    }
}

/* ---- the definition */
typedef struct terms {
    double s, k, z; /* s = sigmoid, k = its factor in the loss, z = k weight s (1 - s) */
} terms;

static int32_t target_of(const double *const *in, uint64_t p) {
    return eg__synapse_target((int32_t)in[ENDS][p]);
}
static uint64_t source_of(const double *const *in, uint64_t p) {
    return eg__synapse_source((int32_t)in[ENDS][p]);
}

static terms terms_at(const double *const *in, const double *v, const double *d, uint64_t targets,
                      uint64_t p) {
    const double s = 1 / (1 + exp(-in[SLOPE][p] * (v[source_of(in, p)] - in[MIDDLE][p])));
    const uint64_t t = (uint64_t)target_of(in, p);
    const double k = d ? d[t] * in[REVERSAL][p] + d[targets + t] : 0;
    return (terms){s, k, k * in[WEIGHT][p] * s * (1 - s)};
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *v = at(graph, node, V);
    const uint64_t targets = node->attributes.synapses.targets, sources = v->shape[v->rank - 1];
    memset(out, 0, (size_t)eg__node_elements(node) * sizeof *out);
    for (uint64_t b = 0; b < samples(v); b++)
        for (uint64_t p = 0; p < at(graph, node, WEIGHT)->shape[0]; p++) {
            const int32_t target = target_of(in, p);
            if (target < 0) continue;
            const double a = in[WEIGHT][p] * terms_at(in, in[V] + b * sources, NULL, targets, p).s;
            double *to = out + 2 * b * targets + (uint64_t)target;
            to[0] += a * in[REVERSAL][p];
            to[targets] += a;
        }
}

static void evaluate_dv(const eg_graph *graph, const eg__node *node, const double *const *in,
                        double *out) {
    const eg__node *v = at(graph, node, V);
    const uint64_t targets = node->attributes.synapses.targets, sources = v->shape[v->rank - 1];
    memset(out, 0, (size_t)eg__node_elements(node) * sizeof *out);
    for (uint64_t b = 0; b < samples(v); b++)
        for (uint64_t p = 0; p < at(graph, node, WEIGHT)->shape[0]; p++) {
            if (target_of(in, p) < 0) continue;
            const terms t = terms_at(in, in[V] + b * sources, in[D] + 2 * b * targets, targets, p);
            out[b * sources + source_of(in, p)] += t.z * in[SLOPE][p];
        }
}

static void evaluate_dp(const eg_graph *graph, const eg__node *node, const double *const *in,
                        double *out) {
    const eg__node *v = at(graph, node, V);
    const uint64_t targets = node->attributes.synapses.targets, sources = v->shape[v->rank - 1];
    const uint64_t count = node->shape[1];
    memset(out, 0, (size_t)eg__node_elements(node) * sizeof *out);
    for (uint64_t b = 0; b < samples(v); b++)
        for (uint64_t p = 0; p < count; p++) {
            if (target_of(in, p) < 0) continue;
            const double *x = in[V] + b * sources, *d = in[D] + 2 * b * targets;
            const terms t = terms_at(in, x, d, targets, p);
            out[p] += t.k * t.s;
            out[count + p] -= t.z * in[SLOPE][p];
            out[2 * count + p] += t.z * (x[source_of(in, p)] - in[MIDDLE][p]);
            out[3 * count + p] += d[(uint64_t)target_of(in, p)] * in[WEIGHT][p] * t.s;
        }
}

/* ---- steps */

static void lower_any(eg__lowering *l, uint32_t id, eg__step_id kind, bool over_batch) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t region = l->region[id];
    const eg__matrix v = eg__lower_rows(l, eg__lower_input(l, id, V));
    const bool back = node->op != EG__GRAPH_synapses;
    const eg__matrix d = back ? eg__lower_rows(l, eg__lower_input(l, id, D)) : v;
    eg__matrix out = eg__lower_rows_storage(l, id, 0);
    const uint64_t targets = node->attributes.synapses.targets;
    if (l->status) return;
    if (over_batch && !eg__view_is_contiguous(node, &out.view)) {
        out.view = eg__lower_plain_storage(l, id);
        eg__view_rows(node, &out.view, &out);
    }
    const eg__node *ends = at(l->graph, node, ENDS);
    /* the gradient of the parameters sums over all samples, so its items are the synapses */
    eg__step step = eg__lower_step(l, region, id, kind, over_batch ? 1 : v.rows, out.columns);
    step.u.synapses = (eg__step_synapses){.sources = v.columns,
                                          .targets = (size_t)targets,
                                          .count = (size_t)ends->shape[0],
                                          .batch = v.rows,
                                          .in_lanes = facts_of(ends).in_lanes};
    if (over_batch) {
        step.timed = false;
        step.items = (size_t)ends->shape[0];
        step.rows = 1;
        if (l->timed[eg__lower_input(l, id, V)] && l->length) {
            step.u.synapses.batch_timed = true;
            step.u.synapses.batch /= l->length;
        }
    }
    step.flops = flops(l->graph, node);
    /* bytes: sources, result, four parameters and the ends per synapse, and the gradient */
    step.bytes = 4.0 * ((double)v.rows * (double)v.columns + (double)eg__node_elements(node) +
                        5.0 * (double)ends->shape[0]);
    if (back) step.bytes += 4.0 * (double)d.rows * (double)d.columns;
    eg__operand operands[8] = {eg__lower_operand(&step, &v.view, v.stride, !over_batch)};
    for (unsigned i = WEIGHT; i <= ENDS; i++) {
        const eg__view view = eg__lower_contiguous(l, eg__lower_input(l, id, i));
        operands[i] = eg__lower_operand(&step, &view, 1, over_batch);
    }
    operands[ENDS + 1] = eg__lower_operand(&step, &out.view, out.stride, !over_batch);
    if (over_batch) {
        operands[ENDS + 1].item = sizeof(float);
        operands[ENDS + 1].stride = (size_t)ends->shape[0];
    }
    operands[ENDS + 2] = eg__lower_operand(&step, &d.view, d.stride, !over_batch);
    eg__lower_emit(l, region, &step, back ? 8 : 7, operands);
}

static void lower(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_synapses, false); }
static void lower_dv(eg__lowering *l, uint32_t id) {
    lower_any(l, id, EG__STEP_synapses_dv, false);
}
static void lower_dp(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_synapses_dp, true); }

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    return input == V || input == D ? eg__time_rows(clock, node, input, axis) : EG__TIME_MIXED;
}

/* A sum over the steps of the run. */
static int time_dp(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const eg_graph *graph = clock->graph;
    const uint32_t other = eg__node_input(graph, node, input == V ? D : V).id;
    const bool both = (input == V || input == D) && axis == 0 && clock->axis[other] == 1 &&
                      eg__node_at(graph, eg__node_input(graph, node, input))->rank > 1;
    return both ? EG__TIME_ENDS : EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, V));
    return x->rank > 1 && eg__has_items(x, items);
}

/* Parameters are the same in all steps. */
static bool lifts(const eg_graph *graph, const eg__node *node) {
    for (unsigned i = V + 1; i < D; i++)
        if (eg__node_at(graph, eg__node_input(graph, node, i))->scan) return false;
    return true;
}

const eg__op eg__op_synapses = {.name = "synapses",
                                .is_kept = eg__always_kept,
                                .infer = infer,
                                .flops = flops,
                                .gradient = gradient,
                                .evaluate = evaluate,
                                .lower = lower,
                                .time = time_axis,
                                .keeps_items = keeps_items,
                                .lifts = lifts};
const eg__op eg__op_synapses_dv = {.name = "synapses_dv",
                                   .infer = infer_dv,
                                   .flops = flops,
                                   .evaluate = evaluate_dv,
                                   .lower = lower_dv,
                                   .time = time_axis,
                                   .keeps_items = keeps_items,
                                   .lifts = lifts};
const eg__op eg__op_synapses_dp = {.name = "synapses_dp",
                                   .infer = infer_dp,
                                   .flops = flops,
                                   .evaluate = evaluate_dp,
                                   .lower = lower_dp,
                                   .time = time_dp};
