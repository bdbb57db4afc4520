/* Constant folding and algebra: removes x + 0, x * 1, transposes of transposes, slices of concats;
 * expresses values through others that are needed anyway (x sigmoid(x)). */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

#include <string.h>

static eg_node input_of(const eg_graph *g, eg_node node, unsigned i) {
    return eg__node_input(g, eg__node_at(g, node), i);
}
static bool is_op(const eg_graph *g, eg_node node, eg__op_id op) {
    return eg__node_at(g, node)->op == op;
}
static bool is_unary(const eg_graph *g, eg_node node, eg__unary kind) {
    return is_op(g, node, EG__GRAPH_unary) && eg__node_at(g, node)->kind == kind;
}
static bool has_shape(const eg_graph *g, eg_node node, const eg__node *shape) {
    return eg__same_shape(eg__node_at(g, node), shape);
}

/* ---- constants */

/* One f32 value, in all elements. */
static bool is_value(const eg_graph *g, eg_node node, float *value) {
    while (is_op(g, node, EG__GRAPH_broadcast) || is_op(g, node, EG__GRAPH_reshape))
        node = input_of(g, node, 0);
    const eg__node *n = eg__node_at(g, node);
    if (n->op != EG__GRAPH_constant || n->type != EG_F32 || eg__node_elements(n) == 0) return false;
    const float *data = n->data;
    for (uint64_t i = 1; i < eg__node_elements(n); i++)
        if (memcmp(&data[i], &data[0], sizeof *data) != 0) return false;
    *value = data[0];
    return true;
}
static bool is_number(const eg_graph *g, eg_node node, float number) {
    float value;
    return is_value(g, node, &value) && value == number;
}

static bool can_compute(const eg__rewrite *r, uint32_t id) {
    enum { MOST = 65536 };
    const eg__node *node = eg__old(r, id);
    if (!node->input_count || !eg__op_row(node->op)->evaluate || node->scan ||
        eg__is_half(node->type) || node->op == EG__GRAPH_update ||
        node->op == EG__GRAPH_broadcast || eg__node_elements(node) > MOST ||
        (r->training && eg__attention_is_random(node)))
        return false;
    for (unsigned i = 0; i < node->input_count; i++) {
        const eg_node input = r->map[eg__old_input(r, id, i)];
        if (!is_op(r->to, input, EG__GRAPH_constant) ||
            eg__node_elements(eg__node_at(r->to, input)) > MOST)
            return false;
    }
    return true;
}

static eg_node compute(eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    const size_t n = (size_t)eg__node_elements(node);
    eg__memory *memory = r->to->memory;
    double *out = eg__memory_take_array(memory, EG_TAG_GRAPH, n + 1, sizeof *out, NULL);
    float *data = eg__memory_take_array(memory, EG_TAG_GRAPH, n + 1, sizeof *data, NULL);
    eg_node result = {0}, copy = eg__rewrite_copy(r, id);
    double *where[] = {out};
    eg_error error;
    if (!out || !data) eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory to fold node %u", id);
    else if (copy.id && eg__graph_evaluate(r->to, 0, NULL, 1, &copy, where, false, 0, &error))
        eg__graph_mistake(r->to, error.status, "%s", error.message);
    else if (copy.id) {
        for (size_t i = 0; i < n; i++) {
            if (node->type == EG_I32) ((int32_t *)data)[i] = (int32_t)out[i];
            else data[i] = (float)out[i];
        }
        eg_tensor tensor = {.type = node->type, .rank = node->rank, .data = data};
        memcpy(tensor.shape, node->shape, sizeof tensor.shape);
        result = eg_constant(r->to, &tensor);
    }
    eg__memory_give(memory, out);
    eg__memory_give(memory, data);
    return result;
}

/* ---- elementwise */

/* x where it has the shape of the result, else x repeated to it. */
static eg_node shaped(eg_graph *g, eg_node x, const eg__node *node) {
    return has_shape(g, x, node) ? x : eg_broadcast(g, x, node->rank, node->shape);
}

/* Removes the broadcast of an operand if the other operand already has the result's shape. */
static eg_node unbroadcast(const eg_graph *g, eg_node x, eg_node other, const eg__node *node) {
    while (is_op(g, x, EG__GRAPH_broadcast) && has_shape(g, other, node)) x = input_of(g, x, 0);
    return x;
}

static eg_node fold_binary(eg__rewrite *r, uint32_t id) {
    eg_graph *g = r->to;
    const eg__node *node = eg__old(r, id);
    eg_node a = r->map[eg__old_input(r, id, 0)], b = r->map[eg__old_input(r, id, 1)];
    switch ((eg__binary)node->kind) {
    case EG__BINARY_add:
        if (is_number(g, b, 0)) return shaped(g, a, node);
        if (is_number(g, a, 0)) return shaped(g, b, node);
        if (is_unary(g, b, EG__UNARY_neg)) return eg_sub(g, a, input_of(g, b, 0));
        if (is_unary(g, a, EG__UNARY_neg)) return eg_sub(g, b, input_of(g, a, 0));
        break;
    case EG__BINARY_sub:
        if (is_number(g, b, 0)) return shaped(g, a, node);
        if (is_number(g, a, 0)) return shaped(g, eg_neg(g, b), node);
        if (is_unary(g, b, EG__UNARY_neg)) return eg_add(g, a, input_of(g, b, 0));
        break;
    case EG__BINARY_mul:
        if (is_number(g, b, 1)) return shaped(g, a, node);
        if (is_number(g, a, 1)) return shaped(g, b, node);
        if (is_number(g, b, -1)) return shaped(g, eg_neg(g, a), node);
        if (is_number(g, a, -1)) return shaped(g, eg_neg(g, b), node);
        break;
    case EG__BINARY_div:
        if (is_number(g, b, 1)) return shaped(g, a, node);
        break;
    case EG__BINARY_pow:
        if (is_number(g, b, 1)) return shaped(g, a, node);
        if (is_number(g, b, 2)) return shaped(g, eg_mul(g, a, a), node);
        break;
    default: break;
    }
    const eg_node x = unbroadcast(g, a, b, node), y = unbroadcast(g, b, x, node);
    if (x.id == a.id && y.id == b.id) return (eg_node){0};
    eg_node result = eg__graph_add2(g, EG__GRAPH_binary, node->kind, x, y, NULL);
    return has_shape(g, result, node) ? result : (eg_node){0};
}

/* Whether the same region has a node sigmoid(x). */
static bool has_sigmoid(const eg__rewrite *r, uint32_t x, uint32_t scan) {
    for (uint32_t i = x + 1; i <= r->from->size; i++) {
        const eg__node *n = eg__old(r, i);
        if (r->reachable[i] && n->op == EG__GRAPH_unary && n->kind == EG__UNARY_sigmoid &&
            n->scan == scan && eg__old_input(r, i, 0) == x)
            return true;
    }
    return false;
}

static eg_node fold_unary(eg__rewrite *r, uint32_t id, eg_node x) {
    const eg__node *node = eg__old(r, id);
    if (node->kind == EG__UNARY_neg && is_unary(r->to, x, EG__UNARY_neg))
        return input_of(r->to, x, 0);
    if (node->kind == EG__UNARY_silu && node->scan &&
        has_sigmoid(r, eg__old_input(r, id, 0), node->scan))
        return eg_mul(r->to, x, eg_sigmoid(r->to, x));
    return (eg_node){0};
}

/* ---- movement */
static eg_node fold_transpose(eg__rewrite *r, uint32_t id, eg_node x) {
    const eg__node *node = eg__old(r, id), *inner = eg__node_at(r->to, x);
    unsigned order[EG_RANK_MAX];
    bool same = true, nested = inner->op == EG__GRAPH_transpose;
    for (unsigned i = 0; i < node->rank; i++) {
        const unsigned axis = node->attributes.transpose.order[i];
        order[i] = nested ? inner->attributes.transpose.order[axis] : axis;
        same = same && order[i] == i;
    }
    if (same) return nested ? input_of(r->to, x, 0) : x;
    return nested ? eg_transpose(r->to, input_of(r->to, x, 0), order) : (eg_node){0};
}

static eg_node fold_slice(eg__rewrite *r, uint32_t id, eg_node x) {
    eg_graph *g = r->to;
    const eg__node *node = eg__old(r, id);
    const eg__node inner = *eg__node_at(g, x);
    const unsigned axis = node->attributes.slice.axis;
    uint64_t start = node->attributes.slice.start, size = node->shape[axis];
    if (has_shape(g, x, node)) return x;
    if (inner.op == EG__GRAPH_update) /* the update's value */
        return eg_slice(g, input_of(g, x, 1), axis, start, size);
    if (inner.op == EG__GRAPH_slice && inner.attributes.slice.axis == axis)
        return eg_slice(g, input_of(g, x, 0), axis, start + inner.attributes.slice.start, size);
    if (inner.op == EG__GRAPH_concat && inner.attributes.concat.axis == axis)
        for (unsigned i = 0; i < inner.input_count; i++) {
            const eg_node part = eg__node_input(g, &inner, i);
            const uint64_t extent = eg__node_at(g, part)->shape[axis];
            if (start < extent)
                return start + size > extent ? (eg_node){0}
                       : size == extent      ? part
                                             : eg_slice(g, part, axis, start, size);
            start -= extent;
        }
    /* a slice of columns of a product with one user is a product with fewer columns */
    const uint32_t old = eg__old_input(r, id, 0);
    if (inner.op == EG__GRAPH_matmul && axis + 1 == inner.rank && r->uses[old] == 1) {
        const eg_node b = eg__node_input(g, &inner, 1);
        const bool transposed = inner.attributes.matmul.b_transposed;
        const unsigned rank = eg__node_at(g, b)->rank;
        return eg_matmul_transposed(g, eg__node_input(g, &inner, 0),
                                    inner.attributes.matmul.a_transposed,
                                    eg_slice(g, b, rank - 1 - transposed, start, size), transposed);
    }
    return (eg_node){0};
}

/* A stack of a sequence's steps is the sequence; a stack of slices is a slice of the stack. */
static eg_node fold_stack(eg_graph *g, eg_node scan, eg_node value) {
    const eg__node n = *eg__node_at(g, value);
    if (n.op == EG__GRAPH_step && input_of(g, value, 0).id == scan.id) return input_of(g, value, 1);
    const unsigned axis = n.op == EG__GRAPH_slice ? n.attributes.slice.axis : n.rank;
    if (n.scan != scan.id || axis + 1 != n.rank) return (eg_node){0};
    return eg_slice(g, eg_scan_stack(g, scan, input_of(g, value, 0)), axis + 1,
                    n.attributes.slice.start, n.shape[axis]);
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    eg_graph *g = r->to;
    const eg__node *node = eg__old(r, id);
    if (can_compute(r, id)) return compute(r, id);
    const eg_node x = node->input_count ? r->map[eg__old_input(r, id, 0)] : (eg_node){0};
    switch (node->op) {
    case EG__GRAPH_dropout:
        return r->training && node->attributes.dropout.rate > 0 ? (eg_node){0} : x;
    case EG__GRAPH_binary: return fold_binary(r, id);
    case EG__GRAPH_unary: return fold_unary(r, id, x);
    case EG__GRAPH_reshape:
        if (has_shape(g, x, node)) return x;
        if (is_op(g, x, EG__GRAPH_reshape))
            return eg_reshape(g, input_of(g, x, 0), node->rank, node->shape);
        return (eg_node){0};
    case EG__GRAPH_broadcast:
        if (has_shape(g, x, node)) return x;
        if (is_op(g, x, EG__GRAPH_broadcast))
            return eg_broadcast(g, input_of(g, x, 0), node->rank, node->shape);
        return (eg_node){0};
    case EG__GRAPH_transpose: return fold_transpose(r, id, x);
    case EG__GRAPH_slice: return fold_slice(r, id, x);
    case EG__GRAPH_pad: return has_shape(g, x, node) ? x : (eg_node){0};
    case EG__GRAPH_concat: return node->input_count == 1 ? x : (eg_node){0};
    case EG__GRAPH_reduce: /* reduced axes have extent 1 */
        return eg__node_elements(node) == eg__node_elements(eg__node_at(g, x))
                   ? eg_reshape(g, x, node->rank, node->shape)
                   : (eg_node){0};
    case EG__GRAPH_stack:
        return node->attributes.stack.every ? (eg_node){0}
                                            : fold_stack(g, x, r->map[eg__old_input(r, id, 1)]);
    default: return (eg_node){0};
    }
}

eg_status eg__pass_fold(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                        eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {.rule = rule};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}

eg_status eg__pass_clean(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                         eg_graph **to, eg_error *error) {
    eg_graph *folded;
    eg_status status = eg__pass_fold(graph, count, outputs, training, &folded, error);
    if (status) return status;
    status = eg__pass_cse(folded, count, outputs, training, to, error);
    eg_graph_destroy(folded);
    return status;
}
