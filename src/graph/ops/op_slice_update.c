/* slice_update replaces rows of x by those of a value, starting at a row that is an input; slice_at
 * reads such rows. A start too close to the end is clamped so that all rows fit. */
#include "graph/lower/lower.h"

#include <string.h>

enum { X, AT, VALUE };

eg_node eg_slice_update(eg_graph *graph, eg_node x, eg_node at, eg_node value) {
    const eg_node inputs[] = {x, at, value};
    return eg__graph_add(graph, EG__GRAPH_slice_update, 0, 3, inputs, NULL, NULL);
}
eg_node eg_slice_at(eg_graph *graph, eg_node x, eg_node at, uint64_t rows) {
    if (rows > INT64_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "slice_at: the number of rows overflows");
    eg__attributes attributes = {.slice_at = {rows}};
    return eg__graph_add2(graph, EG__GRAPH_slice_at, 0, x, at, &attributes);
}

static const eg__node *input_at(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

static eg_status check(const eg__node *x, const eg__node *at, uint64_t rows, eg_error *error) {
    char text[160];
    if (x->type != EG_F32 || !x->rank || rows > x->shape[0])
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cannot address %llu rows of %s %s: needs f32 with at least as "
                        "many rows",
                        (unsigned long long)rows, eg_type_name(x->type), eg__shape_text(x, text));
    if (at->type != EG_I32 || at->rank)
        return eg__fail(error, EG_ERR_ARGUMENT, "the first row is %s %s, needs one i32",
                        eg_type_name(at->type), eg__shape_text(at, text));
    return EG_OK;
}

static eg_status infer_place(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = input_at(graph, node, X), *value = input_at(graph, node, VALUE);
    char first[160], second[160];
    eg__shape_copy(node, x);
    eg_status status =
        check(x, input_at(graph, node, AT), value->rank ? value->shape[0] : 1, error);
    if (status) return status;
    eg__node expected = *x;
    if (value->rank) expected.shape[0] = value->shape[0];
    if (value->type == EG_F32 && eg__same_shape(value, &expected)) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "rows of %s do not fit into %s",
                    eg__shape_text(value, first), eg__shape_text(x, second));
}

static eg_status infer_take(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = input_at(graph, node, X);
    const uint64_t rows = node->attributes.slice_at.rows;
    eg__shape_copy(node, x);
    node->shape[0] = rows;
    return check(x, input_at(graph, node, AT), rows, error);
}

/* ---- gradients: x gets all but the replaced rows, the value gets those rows */
static void gradient_place(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg_node at = eg__backward_value(backward, eg__node_input(g, &n, AT));
    const eg_node value = eg__node_input(g, &n, VALUE);
    const eg__node v = *eg__node_at(g, value);
    if (eg__backward_wants(backward, eg__node_input(g, &n, X)))
        eg__backward_give(
            backward, eg__node_input(g, &n, X),
            eg_slice_update(g, d, at, eg_broadcast(g, eg_scalar(g, 0), v.rank, v.shape)));
    if (eg__backward_wants(backward, value))
        eg__backward_give(backward, value, eg_slice_at(g, d, at, v.shape[0]));
}

static void gradient_take(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *g = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(g, node);
    const eg__node x = *eg__node_at(g, eg__node_input(g, &n, X));
    const eg_node at = eg__backward_value(backward, eg__node_input(g, &n, AT));
    eg__backward_give(backward, eg__node_input(g, &n, X),
                      eg_slice_update(g, eg_broadcast(g, eg_scalar(g, 0), x.rank, x.shape), at, d));
}

/* ---- the definition */
static uint64_t first_row(double at, uint64_t all, uint64_t rows) {
    if (!(at > 0)) return 0;
    return at > (double)(all - rows) ? all - rows : (uint64_t)at;
}
static uint64_t row_size(const eg__node *x) {
    uint64_t size = 1;
    for (unsigned i = 1; i < x->rank; i++) size *= x->shape[i];
    return size;
}

static void evaluate_place(const eg_graph *graph, const eg__node *node, const double *const *in,
                           double *out) {
    const uint64_t rows = input_at(graph, node, VALUE)->shape[0], size = row_size(node);
    memcpy(out, in[X], (size_t)eg__node_elements(node) * sizeof *out);
    memcpy(out + first_row(in[AT][0], node->shape[0], rows) * size, in[VALUE],
           (size_t)(rows * size) * sizeof *out);
}
static void evaluate_take(const eg_graph *graph, const eg__node *node, const double *const *in,
                          double *out) {
    const eg__node *x = input_at(graph, node, X);
    memcpy(out, in[X] + first_row(in[AT][0], x->shape[0], node->shape[0]) * row_size(x),
           (size_t)eg__node_elements(node) * sizeof *out);
}

/* ---- steps. When the result is written in place (a state), only the new rows are touched. */
static void emit(eg__lowering *l, uint32_t id, const eg__node *big, const eg__view *from,
                 const eg__view *to, bool places) {
    const eg__node *node = eg__lower_node(l, id);
    const uint64_t rows = places ? input_at(l->graph, node, VALUE)->shape[0] : node->shape[0];
    const eg__view at = eg__lower_contiguous(l, eg__lower_input(l, id, AT));
    if (l->status || !rows || !row_size(big)) return;
    eg__step step = eg__lower_begin(id, places ? EG__STEP_slice_update : EG__STEP_slice_at);
    step.items = 1;
    step.rows = (size_t)rows;
    step.columns = (size_t)row_size(big);
    step.u.slice_update.limit = (size_t)(big->shape[0] - rows);
    step.bytes = 8.0 * (double)rows * (double)step.columns + 4; /* and where */
    eg__operand operands[] = {eg__lower_operand(&step, from, step.columns, false),
                              eg__lower_operand(&step, &at, 1, false),
                              eg__lower_operand(&step, to, step.columns, false)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

static void lower_place(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t x = eg__lower_input(l, id, X);
    const eg__view value = eg__lower_contiguous(l, eg__lower_input(l, id, VALUE));
    const eg__view from = eg__lower_value(l, x), home = eg__lower_dense_storage(l, id, x);
    if (l->status) return;
    if (!eg__view_same(node, &from, &home))
        eg__lower_copy(l, l->region[id], id, node, &from, &home);
    emit(l, id, node, &value, &home, true);
}

static void lower_take(eg__lowering *l, uint32_t id) {
    const uint32_t x = eg__lower_input(l, id, X);
    const eg__view from = eg__lower_contiguous(l, x), home = eg__lower_dense_storage(l, id, 0);
    emit(l, id, eg__lower_node(l, x), &from, &home, false);
}

/* Reads of x: the rows that are not replaced. */
static double reads_place(const eg_graph *graph, const eg__node *node, unsigned i) {
    const double all = (double)eg__node_elements(input_at(graph, node, i));
    return i == X ? all - (double)eg__node_elements(input_at(graph, node, VALUE)) : all;
}

const eg__op eg__op_slice_update = {.name = "slice_update",
                                    .infer = infer_place,
                                    .reads = reads_place,
                                    .gradient = gradient_place,
                                    .evaluate = evaluate_place,
                                    .lower = lower_place};
const eg__op eg__op_slice_at = {.name = "slice_at",
                                .infer = infer_take,
                                .reads = eg__reads_picked,
                                .gradient = gradient_take,
                                .evaluate = evaluate_take,
                                .lower = lower_take};
