/* Reductions over axes, and argmax. index: bits of the axes, keep. */
#include "graph/lower/lower.h"

#include <math.h>
#include <string.h>

typedef enum reduction { SUM, MEAN, LARGEST, REDUCTIONS } reduction;

static const char *kind_name(unsigned kind) {
    static const char *const names[REDUCTIONS] = {"sum", "mean", "reduce_max"};
    return kind < REDUCTIONS ? names[kind] : "reduce";
}

static eg_node reduce(eg_graph *graph, reduction kind, eg_node x, unsigned axes, int keep) {
    if (!graph || !x.id || x.id > graph->size) return (eg_node){0};
    if (axes == EG_ALL_AXES) axes = (1u << eg__node_at(graph, x)->rank) - 1;
    eg__attributes attributes = {.reduce = {axes, keep != 0}};
    return eg__graph_add1(graph, EG__GRAPH_reduce, kind, x, &attributes);
}
eg_node eg_sum(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, SUM, x, axes, keep);
}
eg_node eg_mean(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, MEAN, x, axes, keep);
}
eg_node eg_reduce_max(eg_graph *graph, eg_node x, unsigned axes, int keep) {
    return reduce(graph, LARGEST, x, axes, keep);
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    unsigned axes = node->attributes.reduce.axes;
    char text[160];
    if (x->type != EG_F32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32, got '%s'", eg_type_name(x->type));
    if (axes >> x->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "axes (bit mask 0x%x) are not all in %s", axes,
                        eg__shape_text(x, text));
    node->type = EG_F32;
    node->rank = 0;
    for (unsigned i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1;
        if (reduced && node->kind == LARGEST && !x->shape[i])
            return eg__fail(error, EG_ERR_ARGUMENT, "no maximum: axis %u of %s is empty", i,
                            eg__shape_text(x, text));
        if (!reduced || node->attributes.reduce.keep)
            node->shape[node->rank++] = reduced ? 1 : x->shape[i];
    }
    return EG_OK;
}

static double flops(const eg_graph *graph, const eg__node *node) {
    return (double)eg__node_elements(eg__node_at(graph, eg__node_input(graph, node, 0)));
}

/* The shape of the result with the reduced axes kept, which broadcasts against x. */
static eg__node kept_shape(const eg__node *x, unsigned axes) {
    eg__node kept = {.rank = x->rank};
    for (unsigned i = 0; i < x->rank; i++) kept.shape[i] = axes >> i & 1 ? 1 : x->shape[i];
    return kept;
}

static void gradient(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node x = eg__node_input(g, &n, 0);
    const eg__node from = *eg__node_at(g, x);
    const unsigned axes = n.attributes.reduce.axes;
    const eg__node kept = kept_shape(&from, axes);
    eg_node spread = eg_reshape(g, d, kept.rank, kept.shape);
    if (n.kind == MEAN) {
        double count = (double)eg__node_elements(&from) / (double)eg__node_elements(&kept);
        spread = eg_mul(g, spread, eg_scalar(g, 1 / count));
    }
    if (n.kind == LARGEST) { /* ties share */
        eg_node value = eg__backward_value(backward, x);
        eg_node best = eg_reshape(g, eg__backward_value(backward, node), kept.rank, kept.shape);
        eg_node ties = eg_eq(g, value, best);
        eg__backward_give(backward, x,
                          eg_mul(g, ties, eg_div(g, spread, eg_sum(g, ties, axes, 1))));
        return;
    }
    eg__backward_give(backward, x, eg_broadcast(g, spread, from.rank, from.shape));
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node kept = kept_shape(x, node->attributes.reduce.axes);
    const uint64_t from = eg__node_elements(x), to = eg__node_elements(node);
    for (uint64_t i = 0; i < to; i++) out[i] = node->kind == LARGEST ? -INFINITY : 0;
    for (uint64_t i = 0; i < from; i++) {
        double *result = &out[eg__broadcast_index(x, &kept, i)];
        if (node->kind == LARGEST)
            *result = isnan(in[0][i]) || isnan(*result) ? NAN : fmax(*result, in[0][i]);
        else *result += in[0][i];
    }
    for (uint64_t i = 0; node->kind == MEAN && i < to; i++) out[i] /= (double)from / (double)to;
}

/* ---- steps. The axes that are reduced make one block of rows or columns, or are moved so that they
 * do. */
typedef struct block {
    uint64_t outer, reduced, inner;
    unsigned begin, end; /* axes */
} block;

static bool find_block(const eg__node *x, unsigned axes, block *b) {
    *b = (block){1, 1, 1, 0, 0};
    bool inside = false, after = false;
    for (unsigned i = 0; i < x->rank; i++) {
        if (axes >> i & 1) {
            if (after && x->shape[i] != 1) return false;
            if (!inside) b->begin = i;
            inside = true;
            if (!after) b->end = i + 1;
            b->reduced *= x->shape[i];
        } else {
            if (inside && x->shape[i] != 1) after = true;
            *(inside ? &b->inner : &b->outer) *= x->shape[i];
        }
    }
    if (!inside) b->begin = b->end = x->rank;
    if (b->inner == 1) b->end = x->rank;
    return true;
}

/* Transposes so that the kept axes come first. */
static eg__view move_axes(eg__lowering *l, uint32_t id, unsigned axes, block *b) {
    const uint32_t input = eg__lower_input(l, id, 0);
    const eg__node *x = eg__lower_node(l, input);
    const eg__view view = eg__lower_value(l, input);
    eg__node moved = {.type = EG_F32};
    eg__view from = view;
    *b = (block){1, 1, 1, 0, 0};
    for (int kept = 1; kept >= 0; kept--)
        for (unsigned i = 0; i < x->rank; i++) {
            if (kept == (int)(axes >> i & 1)) continue;
            from.stride[moved.rank] = view.stride[i];
            moved.shape[moved.rank++] = x->shape[i];
            *(kept ? &b->outer : &b->reduced) *= x->shape[i];
            b->begin += kept != 0;
        }
    const eg__view to = eg__lower_new(l, l->region[id], &moved);
    eg__lower_copy(l, l->region[id], id, &moved, &from, &to);
    return to;
}

static void lower(eg__lowering *l, uint32_t id) {
    static const eg__reduction kinds[REDUCTIONS] = {EG__REDUCE_SUM, EG__REDUCE_MEAN,
                                                    EG__REDUCE_MAX};
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t input = eg__lower_input(l, id, 0);
    const eg__node *x = eg__lower_node(l, input);
    const unsigned axes = node->attributes.reduce.axes;
    eg__fused_kind kind;
    size_t stride = 0;
    block b;
    eg__view view = {0};
    const bool sums = find_block(x, axes, &b) && (b.inner == 1 || node->kind != LARGEST);
    if (sums) {
        view = eg__lower_value(l, input);
        if (!l->status &&
            (!eg__view_split(x, &view, b.inner == 1 ? b.begin : b.end, &kind, &stride) ||
             kind != EG__FULL)) {
            view = eg__lower_contiguous(l, input);
            eg__view_split(x, &view, b.inner == 1 ? b.begin : b.end, &kind, &stride);
        }
    } else {
        view = move_axes(l, id, axes, &b);
        stride = (size_t)b.reduced;
    }
    const eg__view home = eg__lower_dense_storage(l, id, 0);
    if (l->status || !eg__node_elements(node)) return;
    const bool rows = b.inner == 1;
    eg__step step =
        eg__lower_step(l, l->region[id], id, rows ? EG__STEP_reduce : EG__STEP_column_sum,
                       (size_t)b.outer, (size_t)(rows ? b.reduced : b.inner));
    step.u.row = (eg__step_rows){.reduction = kinds[node->kind], .height = (size_t)b.reduced};
    if (l->timed[input] && axes & 1 && l->region[id] == EG__REGION_MAIN) {
        step.u.row.height_timed = true;
        step.u.row.height /= l->length;
        if (rows) step.columns /= l->length;
    }
    step.flops = (double)eg__node_elements(x);
    step.bytes = 4 * step.flops + 4.0 * (double)eg__node_elements(node);
    eg__operand operands[] = {eg__lower_operand(&step, &view, stride, true),
                              eg__lower_operand(&step, &home, rows ? 1 : (size_t)b.inner, true)};
    if (!rows) operands[0].item *= (size_t)b.reduced;
    if (!rows && l->region[id] == EG__REGION_MAIN) eg__step_slice(&step, (size_t)b.reduced);
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

/* ---- argmax, along the last axis */
eg_node eg_argmax(eg_graph *graph, eg_node x) {
    return eg__graph_add1(graph, EG__GRAPH_argmax, 0, x, NULL);
}

static eg_status infer_argmax(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    char text[160];
    if (x->type != EG_F32 || !x->rank || !x->shape[x->rank - 1] ||
        x->shape[x->rank - 1] > INT32_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 with a non-empty last axis, got '%s' %s",
                        eg_type_name(x->type), eg__shape_text(x, text));
    node->type = EG_I32;
    node->rank = x->rank - 1;
    memcpy(node->shape, x->shape, node->rank * sizeof *node->shape);
    return EG_OK;
}

static void evaluate_argmax(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const uint64_t n = x->shape[x->rank - 1];
    for (uint64_t r = 0; r < eg__node_elements(node); r++) {
        uint64_t best = 0;
        for (uint64_t i = 0; i < n; i++) {
            double value = in[0][r * n + i], record = in[0][r * n + best];
            if (!isnan(record) && (isnan(value) || value > record)) best = i;
        }
        out[r] = (double)best;
    }
}

static void lower_argmax(eg__lowering *l, uint32_t id) {
    const eg__matrix x = eg__lower_rows(l, eg__lower_input(l, id, 0));
    const eg__view home = eg__lower_dense_storage(l, id, 0);
    if (l->status || !x.rows) return;
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_argmax, x.rows, x.columns);
    step.flops = (double)x.rows * (double)x.columns;
    step.bytes = 4 * step.flops + 4.0 * (double)x.rows;
    eg__operand operands[] = {eg__lower_operand(&step, &x.view, x.stride, true),
                              eg__lower_operand(&step, &home, 1, true)};
    eg__lower_emit(l, l->region[id], &step, 2, operands);
}

static int time_axis(const eg__clock *clock, const eg__node *node, unsigned input, int axis) {
    const unsigned axes = node->attributes.reduce.axes;
    int to = axis;
    (void)clock, (void)input;
    for (int i = 0; i < axis; i++) to -= (axes >> i & 1) && !node->attributes.reduce.keep;
    if (!(axes >> axis & 1)) return to;
    /* a sum over time is a sum over the steps of the run; a mean is not, its gradient divides by
     * the length it was built for */
    return axis == 0 && node->kind == SUM ? EG__TIME_ENDS : EG__TIME_MIXED;
}

static bool keeps_items(const eg_graph *graph, const eg__node *node, uint64_t items) {
    return eg__has_items(eg__node_at(graph, eg__node_input(graph, node, 0)), items) &&
           !(node->attributes.reduce.axes & 1);
}

static eg_node lift(eg_graph *graph, const eg__node *node, eg_node *in, const uint64_t *shape) {
    eg__attributes attributes = node->attributes;
    (void)shape;
    attributes.reduce.axes <<= 1;
    return eg__graph_add1(graph, EG__GRAPH_reduce, node->kind, in[0], &attributes);
}

const eg__op eg__op_reduce = {.name = "reduce",
                              .kinds = REDUCTIONS,
                              .kind_name = kind_name,
                              .is_kept = eg__always_kept,
                              .infer = infer,
                              .flops = flops,
                              .gradient = gradient,
                              .evaluate = evaluate,
                              .lower = lower,
                              .time = time_axis,
                              .time_is_forward = true,
                              .keeps_items = keeps_items,
                              .lifts = eg__lifts_always,
                              .lift = lift,
                              .lifts_any_rank = true};
const eg__op eg__op_argmax = {.name = "argmax",
                              .infer = infer_argmax,
                              .flops = flops,
                              .evaluate = evaluate_argmax,
                              .lower = lower_argmax,
                              .time = eg__time_rows,
                              .time_is_forward = true,
                              .keeps_items = eg__keeps_rows};
