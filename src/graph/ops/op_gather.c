/* gather picks rows by index, scatter adds rows at an index; with `columns`, they do so for the
 * matrix elements at the two ends of each synapse. An index out of range gathers zeros and scatters
 * nothing. */
#include "graph/lower/lower.h"

#include <string.h>

static uint64_t row_size(const eg__node *x, unsigned skipped) {
    uint64_t size = 1;
    for (unsigned i = skipped; i < x->rank; i++) size *= x->shape[i];
    return size;
}

static eg_status check(const eg__node *x, const eg__node *index, unsigned rank, eg_error *error) {
    char a[160], b[160];
    if ((x->type != EG_F32 && !eg__is_half(x->type)) || eg__is_quantized_leaf(x) ||
        index->type != EG_I32)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 and an i32 index, got '%s' and '%s'",
                        eg_type_name(x->type), eg_type_name(index->type));
    if (x->rank < 1 || rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cannot gather rows of %s by an index of shape %s: the rank is "
                        "0 or the result's too large",
                        eg__shape_text(x, a), eg__shape_text(index, b));
    return EG_OK;
}

static eg_node scatter(eg_graph *graph, eg_node x, eg_node index, uint64_t rows, uint64_t columns) {
    eg__attributes attributes = {.scatter = {rows, columns}};
    return eg__graph_add2(graph, EG__GRAPH_scatter, 0, x, index, &attributes);
}

/* ---- gather */
eg_node eg_gather(eg_graph *graph, eg_node x, eg_node index) {
    return eg__graph_add2(graph, EG__GRAPH_gather, 0, x, index, NULL);
}

eg_node eg__gather_ends(eg_graph *graph, eg_node x, eg_node ends, uint64_t columns) {
    eg__attributes attributes = {.gather = {columns}};
    return eg__graph_add2(graph, EG__GRAPH_gather, 0, x, ends, &attributes);
}

static eg_status check_ends(uint64_t rows, uint64_t columns, eg_error *error) {
    if (rows <= EG__SOURCES_MAX && columns <= EG__TARGETS_MAX) return EG_OK;
    return eg__fail(error, EG_ERR_ARGUMENT, "%llu sources and %llu targets are more than %d and %d",
                    (unsigned long long)rows, (unsigned long long)columns, EG__SOURCES_MAX,
                    EG__TARGETS_MAX);
}

static eg_status infer_gather_ends(const eg__node *x, const eg__node *index, eg__node *node,
                                   eg_error *error) {
    const uint64_t columns = node->attributes.gather.columns;
    eg_status status = check(x, index, index->rank, error);
    if (status) return status;
    if (x->rank != 2 || x->shape[1] != columns) {
        char text[160];
        return eg__fail(error, EG_ERR_ARGUMENT, "%s is not a matrix of %llu columns",
                        eg__shape_text(x, text), (unsigned long long)columns);
    }
    eg__shape_copy(node, index);
    node->type = EG_F32;
    return check_ends(x->shape[0], columns, error);
}

static eg_status infer_gather(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *index = eg__node_at(graph, eg__node_input(graph, node, 1));
    if (node->attributes.gather.columns) return infer_gather_ends(x, index, node, error);
    eg_status status = check(x, index, x->rank + index->rank - 1, error);
    if (status) return status;
    node->type = x->type;
    node->rank = index->rank + x->rank - 1;
    memcpy(node->shape, index->shape, index->rank * sizeof *node->shape);
    memcpy(node->shape + index->rank, x->shape + 1, (x->rank - 1) * sizeof *node->shape);
    return EG_OK;
}

static void gradient_gather(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg_node x = eg__node_input(graph, &n, 0);
    eg_node index = eg__backward_value(backward, eg__node_input(graph, &n, 1));
    eg__backward_give(
        backward, x,
        scatter(graph, d, index, eg__node_at(graph, x)->shape[0], n.attributes.gather.columns));
}

/* Number of rows of x (or of a scatter's result), and elements per row. */
typedef struct picked {
    uint64_t rows, size;
    size_t columns;
} picked;

static picked picked_of(const eg__node *from, uint64_t columns) {
    if (columns) return (picked){eg__node_elements(from), 1, (size_t)columns};
    return (picked){from->shape[0], row_size(from, 1), 0};
}

/* The row that element r of the index refers to; false = out of range. */
static bool find_row(const picked *p, const double *index, uint64_t r, uint64_t *row) {
    const int32_t at = eg__gather_row((int32_t)index[r], p->columns);
    *row = (uint64_t)at;
    return at >= 0 && *row < p->rows;
}

static void evaluate_gather(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const picked p = picked_of(x, node->attributes.gather.columns);
    const uint64_t size = p.size, rows = size ? eg__node_elements(node) / size : 0;
    for (uint64_t r = 0, at; r < rows; r++) {
        if (find_row(&p, in[1], r, &at))
            memcpy(out + r * size, in[0] + at * size, size * sizeof *out);
        else memset(out + r * size, 0, size * sizeof *out);
    }
}

/* ---- scatter */
eg_node eg_scatter_add(eg_graph *graph, eg_node x, eg_node index, uint64_t rows) {
    if (rows > INT64_MAX)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "scatter: the number of rows overflows");
    return scatter(graph, x, index, rows, 0);
}

static eg_status infer_scatter_ends(eg__node *node, eg_error *error) {
    const uint64_t rows = node->attributes.scatter.rows, columns = node->attributes.scatter.columns;
    node->rank = 2;
    node->shape[0] = rows;
    node->shape[1] = columns;
    return check_ends(rows, columns, error);
}

static eg_status infer_scatter(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *index = eg__node_at(graph, eg__node_input(graph, node, 1));
    if (index->rank > x->rank || memcmp(x->shape, index->shape, index->rank * sizeof *x->shape)) {
        char a[160], b[160];
        return eg__fail(error, EG_ERR_ARGUMENT, "%s does not begin with the shape %s of the index",
                        eg__shape_text(x, a), eg__shape_text(index, b));
    }
    const bool ends = node->attributes.scatter.columns != 0;
    unsigned rank = x->rank - index->rank + 1;
    if (ends && rank != 1)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "a scatter to matrix elements needs one value per synapse, not "
                        "rows");
    if (x->type != EG_F32 || index->type != EG_I32 || rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_ARGUMENT, "needs f32 and an i32 index, got '%s' and '%s'",
                        eg_type_name(x->type), eg_type_name(index->type));
    node->type = EG_F32;
    if (ends) return infer_scatter_ends(node, error);
    node->rank = rank;
    node->shape[0] = node->attributes.scatter.rows;
    memcpy(node->shape + 1, x->shape + index->rank, (rank - 1) * sizeof *node->shape);
    return EG_OK;
}

static void gradient_scatter(eg__backward *backward, eg_node node, eg_node d) {
    eg_graph *graph = eg__backward_graph(backward);
    const eg__node n = *eg__node_at(graph, node);
    eg_node index = eg__backward_value(backward, eg__node_input(graph, &n, 1));
    eg__backward_give(backward, eg__node_input(graph, &n, 0),
                      eg__gather_ends(graph, d, index, n.attributes.scatter.columns));
}

static double flops_scatter(const eg_graph *graph, const eg__node *node) {
    return (double)eg__node_elements(eg__node_at(graph, eg__node_input(graph, node, 0)));
}

static void evaluate_scatter(const eg_graph *graph, const eg__node *node, const double *const *in,
                             double *out) {
    const eg__node *x = eg__node_at(graph, eg__node_input(graph, node, 0));
    const picked p = picked_of(node, node->attributes.scatter.columns);
    const uint64_t size = p.size, rows = size ? eg__node_elements(x) / size : 0;
    memset(out, 0, eg__node_elements(node) * sizeof *out);
    for (uint64_t r = 0, at; r < rows; r++)
        for (uint64_t i = 0; i < size && find_row(&p, in[1], r, &at); i++)
            out[at * size + i] += in[0][r * size + i];
}

/* ---- steps */
static eg__operand rows_operand(eg__lowering *l, const eg__step *step, uint32_t id, eg__view view,
                                unsigned axes, bool moves) {
    eg__fused_kind kind = EG__FULL;
    size_t stride = 0;
    const eg__node *node = eg__lower_node(l, id);
    if (!l->status && (!eg__view_split(node, &view, axes, &kind, &stride) || kind != EG__FULL)) {
        view = eg__lower_contiguous(l, id);
        stride = (size_t)row_size(node, axes);
    }
    return eg__lower_operand(step, &view, stride, moves);
}

static void lower_gather(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t x = eg__lower_input(l, id, 0), index = eg__lower_input(l, id, 1);
    const unsigned axes = eg__lower_node(l, index)->rank;
    const picked p = picked_of(eg__lower_node(l, x), node->attributes.gather.columns);
    const eg__view at = eg__lower_contiguous(l, index), from = eg__lower_value(l, x);
    const eg__view to = eg__lower_dense_storage(l, id, 0);
    if (l->status || !eg__node_elements(node)) return;
    eg__step step =
        eg__lower_step(l, l->region[id], id, EG__STEP_gather,
                       (size_t)eg__node_elements(eg__lower_node(l, index)), (size_t)p.size);
    step.u.gather.limit = (size_t)p.rows;
    step.u.gather.columns = p.columns;
    step.bytes = 2.0 * (double)eg__element_size(node->type) * (double)eg__node_elements(node) +
                 4.0 * (double)eg__node_elements(eg__lower_node(l, index));
    eg__operand operands[] = {rows_operand(l, &step, x, from, p.columns ? 2 : 1, false),
                              eg__lower_operand(&step, &at, 1, true),
                              rows_operand(l, &step, id, to, axes, true)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

static void lower_scatter(eg__lowering *l, uint32_t id) {
    const eg__node *node = eg__lower_node(l, id);
    const uint32_t x = eg__lower_input(l, id, 0), index = eg__lower_input(l, id, 1);
    const picked p = picked_of(node, node->attributes.scatter.columns);
    const size_t size = (size_t)p.size;
    const eg__view from = eg__lower_contiguous(l, x), at = eg__lower_contiguous(l, index);
    const eg__view to = eg__lower_dense_storage(l, id, 0);
    if (l->status || !eg__node_elements(node)) return;
    eg__step step = eg__lower_step(l, l->region[id], id, EG__STEP_scatter,
                                   (size_t)eg__node_elements(eg__lower_node(l, index)), size);
    step.u.gather.limit = (size_t)p.rows;
    step.u.gather.columns = p.columns;
    step.flops = (double)eg__node_elements(eg__lower_node(l, x));
    /* bytes: zero the result, then read a row of x, read and write a row of the result */
    step.bytes = 4.0 * (double)eg__node_elements(node) + 12 * step.flops +
                 4.0 * (double)eg__node_elements(eg__lower_node(l, index));
    eg__operand operands[] = {eg__lower_operand(&step, &from, size, true),
                              eg__lower_operand(&step, &at, 1, true),
                              eg__lower_operand(&step, &to, size, false)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

const eg__op eg__op_gather = {.name = "gather",
                              .moves = true,
                              .infer = infer_gather,
                              .reads = eg__reads_picked,
                              .gradient = gradient_gather,
                              .evaluate = evaluate_gather,
                              .lower = lower_gather,
                              .time = eg__time_picked,
                              .keeps_items = eg__keeps_picked};
const eg__op eg__op_scatter = {.name = "scatter",
                               .is_kept = eg__always_kept,
                               .infer = infer_scatter,
                               .flops = flops_scatter,
                               .gradient = gradient_scatter,
                               .evaluate = evaluate_scatter,
                               .lower = lower_scatter};
