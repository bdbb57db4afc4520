/* Graphs as JSON, through jansson: {"elegans_graph": 1, "nodes": [{"op": ..., "inputs": [...]}]}. */
#include "formats/models/graph_json.h"
#include "formats/files/json.h"
#include "formats/files/json_read.h"
#include "graph/ops/kv.h"
#include "graph/ops/small.h"

#include <math.h>
#include <string.h>

enum { VERSION = 1 };

/* ---- writing */

/* JSON has no NaN and no infinity: they become words. */
static void put_number(eg__json *json, const char *key, double value) {
    char text[EG_NUMBER_SIZE];
    eg_number_format(text, value);
    if (isfinite(value)) eg__json_put_number(json, key, value);
    else eg__json_put_text(json, key, text);
}

static void put_data(eg__json *json, const eg__node *node) {
    eg__json_open_list(json, "data");
    for (uint64_t i = 0; i < eg__node_elements(node); i++) {
        if (node->type == EG_I32)
            eg__json_put_integer(json, NULL, ((const int32_t *)node->data)[i]);
        else put_number(json, NULL, ((const float *)node->data)[i]);
    }
    eg__json_close(json);
}

static void put_node(eg__json *json, const eg_graph *graph, const eg__node *node) {
    eg__json_open_object(json, NULL);
    eg__json_put_text(json, "op", eg__node_operation(node));
    if (node->name) eg__json_put_text(json, "name", node->name);
    eg__json_put_text(json, "type", eg_type_name(node->type));
    eg__json_open_list(json, "shape");
    for (unsigned i = 0; i < node->rank; i++) eg__json_put_count(json, NULL, node->shape[i]);
    eg__json_close(json);
    eg__json_open_list(json, "inputs");
    for (unsigned i = 0; i < node->input_count; i++)
        eg__json_put_count(json, NULL, eg__node_input(graph, node, i).id);
    eg__json_close(json);
    const int64_t *index = node->attributes.index;
    unsigned used = EG_RANK_MAX;
    while (used && !index[used - 1]) used--;
    if (used) {
        eg__json_open_list(json, "index");
        for (unsigned i = 0; i < used; i++) eg__json_put_integer(json, NULL, index[i]);
        eg__json_close(json);
    }
    if (node->attributes.number != 0) put_number(json, "number", node->attributes.number);
    if (node->next && node->op == EG__GRAPH_carry) eg__json_put_count(json, "next", node->next);
    if (node->data) put_data(json, node);
    eg__json_close(json);
}

eg_status eg__graph_to_json(const eg_graph *graph, char **text, size_t *length, eg_error *error) {
    eg_status status = eg_graph_check(graph, error);
    if (status) return status;
    eg__json json;
    eg__json_begin(&json, graph->memory);
    eg__json_open_object(&json, NULL);
    eg__json_put_count(&json, "elegans_graph", VERSION);
    eg__json_open_list(&json, "nodes");
    for (uint32_t i = 1; i <= graph->size; i++) put_node(&json, graph, &graph->nodes[i]);
    eg__json_close(&json);
    eg__json_close(&json);
    return eg__json_end(&json, text, length, error);
}

/* ---- reading: every node is made anew, so that nothing wrong can come in */

static eg_status bad(eg_error *error, size_t node, const char *what) {
    return eg__fail(error, EG_ERR_FORMAT, "node %zu: %s", node, what);
}

static bool find_operation(const char *name, eg__op_id *op, unsigned *kind) {
    for (unsigned id = 0; id < EG__GRAPH_COUNT; id++)
        for (unsigned k = 0; k < 32; k++) {
            eg__node node = {.op = id, .kind = k};
            if (strcmp(eg__node_operation(&node), name) != 0) continue;
            /* "unary" itself, and kinds beyond the last, have the family's name */
            if ((id == EG__GRAPH_unary && k >= EG__UNARY_COUNT) ||
                (id == EG__GRAPH_binary && k >= EG__BINARY_COUNT) ||
                (id == EG__GRAPH_reduce && k >= 3) ||
                ((id == EG__GRAPH_softmax || id == EG__GRAPH_norm) && k >= 2))
                continue;
            *op = id;
            *kind = k;
            return true;
        }
    return false;
}

static bool number_from_json(const json_t *value, double *out) {
    if (json_is_number(value)) return *out = json_number_value(value), true;
    return json_is_string(value) &&
           eg_number_parse(json_string_value(value), json_string_length(value), out, NULL) == EG_OK;
}

static eg_status read_shape(const json_t *list, eg__node *node, size_t at, eg_error *error) {
    if (!json_is_array(list) || json_array_size(list) > EG_RANK_MAX)
        return bad(error, at, "shape is no list of at most 6 extents");
    node->rank = (unsigned)json_array_size(list);
    for (unsigned i = 0; i < node->rank; i++) {
        const json_t *extent = json_array_get(list, i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0)
            return bad(error, at, "an extent is no count");
        node->shape[i] = (uint64_t)json_integer_value(extent);
    }
    return EG_OK;
}

static eg_status read_attributes(const json_t *object, eg__attributes *out, size_t at,
                                 eg_error *error) {
    const json_t *index = json_object_get(object, "index"), *number;
    memset(out, 0, sizeof *out);
    if (index && (!json_is_array(index) || json_array_size(index) > EG_RANK_MAX))
        return bad(error, at, "index is no list of at most 6 integers");
    for (size_t i = 0; i < json_array_size(index); i++) {
        if (!json_is_integer(json_array_get(index, i)))
            return bad(error, at, "index holds something else than integers");
        out->index[i] = json_integer_value(json_array_get(index, i));
        if (out->index[i] < 0) return bad(error, at, "index holds a negative number");
    }
    number = json_object_get(object, "number");
    if (number && !number_from_json(number, &out->number))
        return bad(error, at, "number is no number");
    return EG_OK;
}

/* The elements of a constant, into memory that the node will own. */
static eg_status read_data(eg_graph *graph, const json_t *list, eg__node *node, size_t at,
                           eg_error *error) {
    eg_tensor tensor = {.type = node->type, .rank = node->rank};
    memcpy(tensor.shape, node->shape, sizeof tensor.shape);
    uint64_t elements, bytes;
    eg_status status = eg_tensor_measure(&tensor, &elements, &bytes, error);
    if (status) return status;
    if (!json_is_array(list) || json_array_size(list) != elements)
        return bad(error, at, "data does not fill the shape");
    eg_error reason = {EG_ERR_MEMORY, ""};
    node->data = eg__memory_take(graph->memory, EG_TAG_GRAPH, (size_t)bytes, &reason);
    if (!node->data) return eg__fail(error, reason.status, "%s", reason.message);
    for (size_t i = 0; i < elements; i++) {
        const json_t *element = json_array_get(list, i);
        double value;
        bool fits = node->type == EG_I32
                        ? json_is_integer(element) && json_integer_value(element) >= INT32_MIN &&
                              json_integer_value(element) <= INT32_MAX
                        : number_from_json(element, &value);
        if (!fits) return bad(error, at, "data holds what is no element");
        if (node->type == EG_I32) ((int32_t *)node->data)[i] = (int32_t)json_integer_value(element);
        else ((float *)node->data)[i] = (float)value;
    }
    return EG_OK;
}

static eg_node read_cache(eg_graph *graph, const char *name, const eg__node *like) {
    const int64_t *index = like->attributes.index;
    eg__kv_rows rows;
    if (!eg__kv_layout(like, &rows))
        return eg__graph_mistake(graph, EG_ERR_FORMAT, "cache: %lld heads of %lld, %lld bits",
                                 (long long)index[0], (long long)index[1], (long long)index[2]);
    return eg_cache(graph, name, rows.type, rows.slots, (uint32_t)rows.heads, (uint32_t)rows.d);
}

static eg_status read_leaf(eg_graph *graph, const json_t *object, eg__op_id op, eg__node *like,
                           size_t at, eg_node *out, eg_error *error) {
    const char *name = json_string_value(json_object_get(object, "name"));
    eg_status status = EG_OK;
    if (op == EG__GRAPH_constant) {
        if (like->type != EG_F32 && like->type != EG_I32)
            return bad(error, at, "a constant is f32 or i32");
        status = read_data(graph, json_object_get(object, "data"), like, at, error);
        eg_tensor tensor = {.type = like->type, .rank = like->rank, .data = like->data};
        memcpy(tensor.shape, like->shape, sizeof tensor.shape);
        if (!status) *out = eg_constant(graph, &tensor);
        eg__memory_give(graph->memory, like->data);
    } else if (eg__is_small(like->type) && (op == EG__GRAPH_input || op == EG__GRAPH_parameter)) {
        const eg_quantization how = eg__small_described(like->type, &like->attributes);
        *out = eg__small_leaf(graph, op, name, &how, like->rank, like->shape);
    } else if (op == EG__GRAPH_input)
        *out = eg_input(graph, name, like->type, like->rank, like->shape);
    else if (op == EG__GRAPH_parameter) *out = eg_parameter(graph, name, like->rank, like->shape);
    else if (op == EG__GRAPH_cache) *out = read_cache(graph, name, like);
    else *out = eg_state(graph, name, like->rank, like->shape);
    return status;
}

static eg_status read_inputs(const json_t *list, eg_node *inputs, size_t most, size_t at,
                             size_t *count, eg_error *error) {
    *count = json_array_size(list);
    if ((list && !json_is_array(list)) || *count > most)
        return bad(error, at, "inputs are no list of at most 64 nodes");
    for (size_t i = 0; i < *count; i++) {
        const json_t *input = json_array_get(list, i);
        if (!json_is_integer(input) || json_integer_value(input) < 1 ||
            json_integer_value(input) >= (json_int_t)at)
            return bad(error, at, "an input is no earlier node");
        inputs[i].id = (uint32_t)json_integer_value(input);
    }
    return EG_OK;
}

/* How many inputs an operation has; concat takes any number. */
static bool count_fits(eg__op_id op, size_t count) {
    switch (op) {
    case EG__GRAPH_input:
    case EG__GRAPH_parameter:
    case EG__GRAPH_constant:
    case EG__GRAPH_state:
    case EG__GRAPH_cache:
    case EG__GRAPH_scan: return count == 0;
    case EG__GRAPH_place:
    case EG__GRAPH_append:
    case EG__GRAPH_select: return count == 3;
    case EG__GRAPH_synapses: return count == 7;
    case EG__GRAPH_synapses_dv:
    case EG__GRAPH_synapses_dp: return count == 8;
    case EG__GRAPH_attention:
    case EG__GRAPH_attention_dq:
    case EG__GRAPH_attention_dkv: return count >= 3 && count <= 7; /* it looks itself */
    case EG__GRAPH_attention_cached: return count == 5;
    case EG__GRAPH_rotary: return count == 2 || count == 3;
    case EG__GRAPH_concat: return count > 0;
    case EG__GRAPH_small_matmul: return false; /* its table is made by a pass alone */
    case EG__GRAPH_stored_matmul:
    case EG__GRAPH_stored_gather:
    case EG__GRAPH_update:
    case EG__GRAPH_gather:
    case EG__GRAPH_take:
    case EG__GRAPH_again:
    case EG__GRAPH_scatter:
    case EG__GRAPH_binary:
    case EG__GRAPH_matmul:
    case EG__GRAPH_conv:
    case EG__GRAPH_conv_dw:
    case EG__GRAPH_carry:
    case EG__GRAPH_step:
    case EG__GRAPH_stack:
    case EG__GRAPH_total:
    case EG__GRAPH_last: return count == 2;
    default: return count == 1;
    }
}

static eg_status read_node(eg_graph *graph, const json_t *object, size_t at, eg_error *error) {
    enum { MOST = 64 };
    eg__op_id op;
    unsigned kind;
    eg__node like = {0};
    eg__attributes attributes;
    eg_node inputs[MOST], made = {0};
    size_t count;
    const char *name = json_string_value(json_object_get(object, "op"));
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!name || !find_operation(name, &op, &kind)) return bad(error, at, "unknown operation");
    if (!type || eg_type_find(type, &like.type, NULL)) return bad(error, at, "unknown type");
    eg_status status = read_shape(json_object_get(object, "shape"), &like, at, error);
    if (!status)
        status = read_inputs(json_object_get(object, "inputs"), inputs, MOST, at, &count, error);
    if (!status) status = read_attributes(object, &attributes, at, error);
    if (status) return status;
    like.attributes = attributes;
    if (!count_fits(op, count)) return bad(error, at, "wrong number of inputs");
    if (op <= EG__GRAPH_cache) status = read_leaf(graph, object, op, &like, at, &made, error);
    else if (op == EG__GRAPH_scan)
        made = eg_scan(graph, (uint64_t)attributes.index[0], attributes.index[1] != 0);
    else if (op == EG__GRAPH_update) made = eg_update(graph, inputs[0], inputs[1]);
    else {
        eg__node shape = like; /* reshape and broadcast take their shape from it */
        made = eg__graph_add(graph, op, kind, count, inputs, &attributes, &shape);
    }
    if (status) return status;
    if (!made.id) return eg_graph_check(graph, error);
    const eg__node *node = eg__node_at(graph, made);
    if (!eg__same_shape(node, &like) || node->type != like.type)
        return bad(error, at, "its shape does not follow from its inputs");
    return EG_OK;
}

static eg_status read_updates(eg_graph *graph, const json_t *nodes, eg_error *error) {
    for (uint32_t i = 1; i <= graph->size; i++) {
        const json_t *next = json_object_get(json_array_get(nodes, i - 1), "next");
        if (!next || graph->nodes[i].op != EG__GRAPH_carry) continue;
        if (!json_is_integer(next) || json_integer_value(next) < 1 ||
            json_integer_value(next) > (json_int_t)graph->size)
            return bad(error, i, "next is no node");
        eg_scan_update(graph, (eg_node){i}, (eg_node){(uint32_t)json_integer_value(next)});
    }
    return eg_graph_check(graph, error);
}

eg_status eg__graph_from_json(eg__memory *memory, const char *text, size_t length, eg_graph **out,
                              eg_error *error) {
    *out = NULL;
    json_t *document;
    eg_status status = eg__json_read(memory, text, length, &document, error);
    if (status) return status;
    const json_t *nodes = json_object_get(document, "nodes");
    eg_graph *graph = NULL;
    if (json_integer_value(json_object_get(document, "elegans_graph")) != VERSION ||
        !json_is_array(nodes))
        status = eg__fail(error, EG_ERR_FORMAT, "no graph of version %d", VERSION);
    if (!status) status = eg__graph_new(memory, &graph, error);
    for (size_t i = 0; !status && i < json_array_size(nodes); i++)
        status = read_node(graph, json_array_get(nodes, i), i + 1, error);
    if (!status) status = read_updates(graph, nodes, error);
    json_decref(document);
    if (status) eg_graph_destroy(graph);
    else *out = graph;
    return status;
}
