/* attention and its gradients with respect to queries, and to keys and values (inputs:
 * attention.h). The result has the log-sum-exp of every head after its columns, from which the
 * gradients recompute the weights; attention_dkv has the columns of dk, then those of dv. */
#include "base/abi.h"
#include "graph/ops/attention.h"
#include "graph/lower/lower.h"

#include <math.h>

enum { MOST = 7 }; /* inputs */

static eg_node mistake(eg_graph *graph, const char *what, double value) {
    return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "attention: %s %g", what, value);
}

eg_node eg_attention(eg_graph *graph, const eg_attention_options *options, eg_node q, eg_node k,
                     eg_node v, eg_node mask, eg_node lengths) {
    eg_attention_options kept, *const o = &kept;
    eg_error reason;
    if (!graph || !options) return (eg_node){0};
    if (EG__OPTIONS(eg_attention_options, &kept, options, &reason))
        return eg__graph_mistake(graph, reason.status, "attention: %s", reason.message);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return mistake(graph, "dropout is not within [0, 1):", o->dropout);
    if (o->window > INT64_MAX) return mistake(graph, "the window is too large:", (double)o->window);
    const uint32_t kv_heads = o->kv_heads ? o->kv_heads : o->heads;
    const double limit = ceil(o->dropout * 0x1p53);
    const eg__attributes attributes = {
        .attention = {.heads = o->heads,
                      .kv_heads = kv_heads,
                      .causal = o->causal != 0,
                      .has_mask = mask.id != 0,
                      .has_lengths = lengths.id != 0,
                      .window = o->window,
                      .dropout_key = limit > 0 ? (uint64_t)graph->size + 1 : 0,
                      .dropout_limit = (uint64_t)limit,
                      .scale = o->scale}};
    eg_node inputs[MOST] = {q, k, v};
    size_t count = 3;
    if (mask.id) inputs[count++] = mask;
    if (lengths.id) inputs[count++] = lengths;
    eg_node all = eg__graph_add(graph, EG__GRAPH_attention, 0, count, inputs, &attributes, NULL);
    if (!all.id) return all;
    const uint64_t columns = eg__node_at(graph, all)->shape[2];
    return eg_slice(graph, all, 2, 0, columns - o->heads);
}

bool eg__attention_is_random(const eg__node *node) {
    return (node->op == EG__GRAPH_attention || node->op == EG__GRAPH_attention_dq ||
            node->op == EG__GRAPH_attention_dkv) &&
           node->attributes.attention.dropout_limit > 0;
}

/* index[2] holds one bit each for causal, mask and lengths */
static void from_index(const int64_t index[EG_RANK_MAX], eg__attributes *out) {
    out->attention = (eg__attention_attributes){.heads = (uint64_t)index[0],
                                                .kv_heads = (uint64_t)index[1],
                                                .causal = index[2] & 1,
                                                .has_mask = index[2] >> 1 & 1,
                                                .has_lengths = index[2] >> 2 & 1,
                                                .window = (uint64_t)index[3],
                                                .dropout_key = (uint64_t)index[4],
                                                .dropout_limit = (uint64_t)index[5]};
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    eg__attention_shape s;
    eg_status status = eg__attention_shape_of(graph, node, &s, error);
    if (status) return status;
    const eg__attention_f32_args *a = &s.args;
    node->type = EG_F32;
    node->rank = 3;
    node->shape[0] = s.samples;
    node->shape[1] = node->op == EG__GRAPH_attention_dkv ? a->keys : a->queries;
    if (node->op == EG__GRAPH_attention) node->shape[2] = (uint64_t)a->heads * (a->dv + 1);
    else if (node->op == EG__GRAPH_attention_dq) node->shape[2] = (uint64_t)a->heads * a->d;
    else node->shape[2] = (uint64_t)a->kv_heads * (a->d + a->dv);
    return EG_OK;
}

/* Per visible pair, forward: two dot products (d and dv long), scale, maximum, subtract, exp, sum.
 * Backward: three dot products (four for keys and values), scale, subtract, exp, subtract delta,
 * multiply. Work done once per query is not counted. */
static double flops(const eg_graph *graph, const eg__node *node) {
    eg__attention_shape s;
    eg_error error;
    if (eg__attention_shape_of(graph, node, &s, &error)) return 0;
    const double d = (double)s.args.d, dv = (double)s.args.dv;
    const double each = node->op == EG__GRAPH_attention      ? 2 * (d + dv) + 5
                        : node->op == EG__GRAPH_attention_dq ? 2 * (2 * d + dv) + 5
                                                             : 2 * (2 * d + 2 * dv) + 5;
    return eg__attention_pairs(&s) * each;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node q = eg__node_input(g, &n, EG__ATTENTION_Q),
                  k = eg__node_input(g, &n, EG__ATTENTION_K),
                  v = eg__node_input(g, &n, EG__ATTENTION_V);
    eg_node inputs[MOST];
    for (unsigned i = 0; i < n.input_count; i++) {
        const eg_node input = eg__node_input(g, &n, i);
        if (i > EG__ATTENTION_V && eg__backward_wants(backward, input)) {
            eg__graph_mistake(g, EG_ERR_UNSUPPORTED,
                              "attention: the mask and the lengths have no gradient");
            return;
        }
        inputs[i] = eg__backward_value(backward, input);
    }
    inputs[n.input_count] = eg__backward_value(backward, node);
    inputs[n.input_count + 1] = d;
    if (eg__backward_wants(backward, q))
        eg__backward_give(backward, q,
                          eg__graph_add(g, EG__GRAPH_attention_dq, 0, n.input_count + 2, inputs,
                                        &n.attributes, NULL));
    if (!eg__backward_wants(backward, k) && !eg__backward_wants(backward, v)) return;
    const eg_node both = eg__graph_add(g, EG__GRAPH_attention_dkv, 0, n.input_count + 2, inputs,
                                       &n.attributes, NULL);
    const uint64_t k_columns = eg__node_at(g, k)->shape[2], v_columns = eg__node_at(g, v)->shape[2];
    if (eg__backward_wants(backward, k))
        eg__backward_give(backward, k, eg_slice(g, both, 2, 0, k_columns));
    if (eg__backward_wants(backward, v))
        eg__backward_give(backward, v, eg_slice(g, both, 2, k_columns, v_columns));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    eg__attention_draw(graph, node, in, out, &(eg__chance){0});
}

/* ---- steps */
static eg__operand rows_of(eg__lowering *l, const eg__step *step, uint32_t id, int input) {
    const eg__matrix x = eg__lower_rows(l, eg__lower_input(l, id, (unsigned)input));
    return eg__lower_operand(step, &x.view, x.stride, false);
}

static void lower_any(eg__lowering *l, uint32_t id, eg__step_id kind) {
    const eg__node *node = eg__lower_node(l, id);
    eg__attention_shape s;
    l->status = eg__attention_shape_of(l->graph, node, &s, l->error);
    if (l->status) return;
    eg__step step = eg__lower_begin(id, kind);
    step.columns = (size_t)node->shape[2];
    step.items = (size_t)s.samples * s.args.kv_heads *
                 eg__attention_blocks(&s.args, node->op == EG__GRAPH_attention_dkv);
    s.args.dropout.limit = l->options->training ? node->attributes.attention.dropout_limit : 0;
    s.args.dropout.key = node->attributes.attention.dropout_key;
    step.u.attention = (eg__step_attention){.args = s.args,
                                            .samples = (size_t)s.samples,
                                            .has_mask = s.mask >= 0,
                                            .has_lengths = s.lengths >= 0,
                                            .in_scan = node->scan != 0};
    if (node->scan) step.u.attention.first = eg__lower_node(l, node->scan)->attributes.scan.first;
    eg__operand operands[MOST + 1];
    size_t count = 0;
    for (int i = EG__ATTENTION_Q; i <= EG__ATTENTION_V; i++)
        operands[count++] = rows_of(l, &step, id, i);
    const size_t out_at = count++;
    for (int i = s.y; s.y >= 0 && i <= s.d; i++) operands[count++] = rows_of(l, &step, id, i);
    for (int i = 3; i < 3 + (s.mask >= 0) + (s.lengths >= 0); i++) {
        const eg__view view = eg__lower_contiguous(l, eg__lower_input(l, id, (unsigned)i));
        operands[count++] = eg__lower_operand(&step, &view, 1, false);
    }
    const eg__matrix out = eg__lower_rows_storage(l, id, 0);
    operands[out_at] = eg__lower_operand(&step, &out.view, out.stride, false);
    if (l->status || !step.items) return;
    step.flops = flops(l->graph, node);
    step.bytes = (double)eg__node_elements(node);
    for (unsigned i = 0; i < node->input_count; i++)
        step.bytes += (double)eg__node_elements(eg__lower_node(l, eg__lower_input(l, id, i)));
    step.bytes *= sizeof(float);
    eg__lower_emit(l, l->region[id], &step, count, operands);
}

static void lower(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_attention); }
static void lower_dq(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_attention_dq); }
static void lower_dkv(eg__lowering *l, uint32_t id) { lower_any(l, id, EG__STEP_attention_dkv); }

const eg__op eg__op_attention = {.name = "attention",
                                 .is_kept = eg__always_kept,
                                 .from_index = from_index,
                                 .infer = infer,
                                 .flops = flops,
                                 .gradient = gradient,
                                 .evaluate = evaluate,
                                 .draw = eg__attention_draw,
                                 .lower = lower};
const eg__op eg__op_attention_dq = {.name = "attention_dq",
                                    .from_index = from_index,
                                    .infer = infer,
                                    .flops = flops,
                                    .evaluate = evaluate,
                                    .draw = eg__attention_draw,
                                    .lower = lower_dq};
const eg__op eg__op_attention_dkv = {.name = "attention_dkv",
                                     .from_index = from_index,
                                     .infer = infer,
                                     .flops = flops,
                                     .evaluate = evaluate,
                                     .draw = eg__attention_draw,
                                     .lower = lower_dkv};
