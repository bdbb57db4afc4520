/* Leaves: inputs, parameters, constants, states and their update. */
#include "graph/ops/kv.h"
#include "graph/ops/quantized.h"

#include <string.h>

eg_node eg__graph_leaf(eg_graph *graph, eg__op_id op, const char *name, eg_type type, unsigned rank,
                       const uint64_t *shape) {
    if (!graph) return (eg_node){0};
    if (!name || !name[0] || strlen(name) > 200)
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "%s: the name must have 1 to 200 bytes",
                                 eg__op_row(op)->name);
    if (rank > EG_RANK_MAX || (rank && !shape))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "%s '%s': rank %u is not within 0..%d",
                                 eg__op_row(op)->name, name, rank, EG_RANK_MAX);
    const bool fits =
        type == EG_F32 || (type == EG_I32 && op == EG__GRAPH_input) ||
        (op == EG__GRAPH_state && eg__is_half(type)) ||
        ((op == EG__GRAPH_parameter || op == EG__GRAPH_input) && eg__is_quantized(type));
    if (!fits)
        return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED, "%s '%s': type '%s' is not supported",
                                 eg__op_row(op)->name, name, eg_type_name(type));
    for (uint32_t i = 1; i <= graph->size; i++)
        if (graph->nodes[i].name && strcmp(graph->nodes[i].name, name) == 0)
            return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                     "%s: the name '%s' is taken by node %u", eg__op_row(op)->name,
                                     name, i);
    eg__node like = {.type = type, .rank = rank};
    for (unsigned i = 0; i < rank; i++) like.shape[i] = shape[i];
    eg_node node = eg__graph_add(graph, op, 0, 0, NULL, NULL, &like);
    if (!node.id) return node;
    char *copy = eg__memory_take_text(graph->memory, EG_TAG_GRAPH, name, strlen(name), NULL);
    if (!copy) {
        graph->size--;
        return eg__graph_mistake(graph, EG_ERR_MEMORY, "no memory for the name '%s'", name);
    }
    eg__node_at(graph, node)->name = copy;
    return node;
}

eg_node eg_input(eg_graph *graph, const char *name, eg_type type, unsigned rank,
                 const uint64_t *shape) {
    if (graph && eg__is_quantized(type) &&
        !eg__is_half(type)) /* block formats need a layout: eg_input_infile */
        return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                 "input '%.80s': type '%s' needs a layout: eg_input_infile",
                                 name ? name : "", eg_type_name(type));
    return eg__graph_leaf(graph, EG__GRAPH_input, name, type, rank, shape);
}
eg_node eg_parameter(eg_graph *graph, const char *name, unsigned rank, const uint64_t *shape) {
    return eg__graph_leaf(graph, EG__GRAPH_parameter, name, EG_F32, rank, shape);
}
eg_node eg_state_typed(eg_graph *graph, const char *name, eg_type type, unsigned rank,
                       const uint64_t *shape) {
    return eg__graph_leaf(graph, EG__GRAPH_state, name, type, rank, shape);
}
eg_node eg_state(eg_graph *graph, const char *name, unsigned rank, const uint64_t *shape) {
    return eg_state_typed(graph, name, EG_F32, rank, shape);
}

eg_node eg__graph_constant(eg_graph *graph, const eg_tensor *tensor) {
    eg__node like = {.type = tensor->type, .rank = tensor->rank};
    memcpy(like.shape, tensor->shape, sizeof like.shape);
    const eg_node node = eg__graph_add(graph, EG__GRAPH_constant, 0, 0, NULL, NULL, &like);
    if (node.id) eg__node_at(graph, node)->data = tensor->data;
    else eg__numbers_give(graph->memory, tensor->data);
    return node;
}

eg_node eg_constant(eg_graph *graph, const eg_tensor *tensor) {
    if (!graph) return (eg_node){0};
    eg_error reason = {EG_OK, ""};
    uint64_t bytes = 0;
    if (!tensor || (tensor->type != EG_F32 && tensor->type != EG_I32 && !eg__is_half(tensor->type)))
        return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                 "constant: no tensor, or its type is not f32, i32, f16 or bf16");
    if (eg_tensor_measure(tensor, NULL, &bytes, &reason))
        return eg__graph_mistake(graph, reason.status, "constant: %s", reason.message);
    eg_tensor copy = *tensor;
    copy.data = eg__numbers_take(graph->memory, (size_t)bytes, NULL);
    if (!copy.data)
        return eg__graph_mistake(graph, EG_ERR_MEMORY, "no memory for a constant of %llu bytes",
                                 (unsigned long long)bytes);
    memcpy(copy.data, tensor->data, (size_t)bytes);
    return eg__graph_constant(graph, &copy);
}

eg_node eg_scalar(eg_graph *graph, double value) {
    float single = (float)value;
    eg_tensor tensor = {.type = EG_F32, .data = &single};
    return eg_constant(graph, &tensor);
}

static void evaluate_constant(const eg_graph *graph, const eg__node *node, const double *const *in,
                              double *out) {
    (void)graph, (void)in;
    for (uint64_t i = 0; i < eg__node_elements(node); i++)
        out[i] = node->type == EG_I32 ? ((const int32_t *)node->data)[i]
                 : eg__is_half(node->type)
                     ? (double)eg__half_to_f32(node->type, ((const uint16_t *)node->data)[i])
                     : (double)((const float *)node->data)[i];
}

/* ---- update: gives the value and makes it the state's next value */
static eg_status infer_update(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *state = eg__node_at(graph, eg__node_input(graph, node, 0));
    const eg__node *value = eg__node_at(graph, eg__node_input(graph, node, 1));
    char first[160], second[160];
    if (state->op != EG__GRAPH_state && state->op != EG__GRAPH_cache &&
        (state->op != EG__GRAPH_input || state->type != EG_F32))
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is not a state, a cache or an f32 input",
                        eg__node_operation(state));
    const eg_type type = state->op == EG__GRAPH_state ? state->type : EG_F32;
    if (!eg__same_shape(state, value) || value->type != type)
        return eg__fail(error, EG_ERR_ARGUMENT, "a state of %s %s cannot be updated with %s %s",
                        eg_type_name(type), eg__shape_text(state, first), eg_type_name(value->type),
                        eg__shape_text(value, second));
    if (state->op == EG__GRAPH_cache &&
        (value->op != EG__GRAPH_append ||
         eg__kv_of(graph, eg__node_input(graph, node, 1).id) != eg__node_input(graph, node, 0).id))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "cache '%s' can be updated only with eg_append of itself", state->name);
    if (node->scan)
        return eg__fail(error, EG_ERR_ARGUMENT, "a state cannot be updated inside a scan");
    if (state->next)
        return eg__fail(error, EG_ERR_ARGUMENT, "%s '%s' has an update already",
                        eg__node_operation(state), state->name);
    eg__shape_copy(node, value);
    return EG_OK;
}

eg_node eg_update(eg_graph *graph, eg_node state, eg_node value) {
    eg_node node = eg__graph_add2(graph, EG__GRAPH_update, 0, state, value, NULL);
    if (node.id) eg__node_at(graph, state)->next = node.id;
    return node;
}

static void gradient_update(eg__backward *backward, eg_node node, eg_node d) {
    const eg_graph *graph = eg__backward_graph(backward);
    eg__backward_give(backward, eg__node_input(graph, eg__node_at(graph, node), 1), d);
}

static void evaluate_update(const eg_graph *graph, const eg__node *node, const double *const *in,
                            double *out) {
    (void)graph;
    memcpy(out, in[1], eg__node_elements(node) * sizeof *out);
}

/* The old value of the state is not read. */
static double reads_update(const eg_graph *graph, const eg__node *node, unsigned i) {
    (void)graph;
    return i ? (double)eg__node_elements(node) : 0;
}

/* ---- from files */
static eg_node make_small(eg_graph *graph, eg__op_id op, const char *name, const eg__node *like) {
    const eg_quantization quantization = eg__leaf_quantization(like);
    return eg__quantized_leaf(graph, op, name, &quantization, like->rank, like->shape);
}
static eg_node make_input(eg_graph *graph, const char *name, const eg__node *like,
                          const eg_node *inputs) {
    (void)inputs;
    return eg__is_quantized_leaf(like) ? make_small(graph, EG__GRAPH_input, name, like)
                                       : eg_input(graph, name, like->type, like->rank, like->shape);
}
static eg_node make_parameter(eg_graph *graph, const char *name, const eg__node *like,
                              const eg_node *inputs) {
    (void)inputs;
    return eg__is_quantized(like->type) ? make_small(graph, EG__GRAPH_parameter, name, like)
                                        : eg_parameter(graph, name, like->rank, like->shape);
}
static eg_node make_state(eg_graph *graph, const char *name, const eg__node *like,
                          const eg_node *inputs) {
    (void)inputs;
    return eg_state_typed(graph, name, like->type, like->rank, like->shape);
}
static eg_node make_constant(eg_graph *graph, const char *name, const eg__node *like,
                             const eg_node *inputs) {
    (void)name, (void)inputs;
    eg_tensor tensor = {.type = like->type, .rank = like->rank, .data = like->data};
    memcpy(tensor.shape, like->shape, sizeof tensor.shape);
    return eg_constant(graph, &tensor);
}
static eg_node make_update(eg_graph *graph, const char *name, const eg__node *like,
                           const eg_node *inputs) {
    (void)name, (void)like;
    return eg_update(graph, inputs[0], inputs[1]);
}

const eg__op eg__op_input = {.name = "input", .is_unique = true, .make = make_input};
const eg__op eg__op_parameter = {.name = "parameter", .is_unique = true, .make = make_parameter};
const eg__op eg__op_state = {.name = "state", .is_unique = true, .make = make_state};
const eg__op eg__op_constant = {
    .name = "constant", .make = make_constant, .evaluate = evaluate_constant};
const eg__op eg__op_update = {.name = "update",
                              .moves = true,
                              .is_unique = true,
                              .make = make_update,
                              .infer = infer_update,
                              .reads = reads_update,
                              .gradient = gradient_update,
                              .evaluate = evaluate_update};
