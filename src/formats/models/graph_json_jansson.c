/* Graphs as JSON, through jansson: {"elegans_graph": 1, "nodes": [{"op": ..., "inputs": [...]}]}. */
#include "formats/models/graph_json.h"
#include "formats/files/json.h"
#include "formats/files/json_read.h"
#include "graph/graph.h"

#include <math.h>
#include <string.h>

enum { VERSION = 2 }; /* the first had attributes without names: "index" and "number" */

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
        else if (eg__is_half(node->type))
            put_number(json, NULL,
                       (double)eg__half_to_f32(node->type, ((const uint16_t *)node->data)[i]));
        else put_number(json, NULL, ((const float *)node->data)[i]);
    }
    eg__json_close(json);
}

/* Lists of the rank of a node, or as long as they always are. */
static void put_list(eg__json *json, const eg__node *node, const eg__attribute *a) {
    unsigned used = a->count;
    while (used > node->rank && !eg__attribute_integer(&node->attributes, a, used - 1)) used--;
    eg__json_open_list(json, a->name);
    for (unsigned i = 0; i < used; i++)
        eg__json_put_integer(json, NULL, eg__attribute_integer(&node->attributes, a, i));
    eg__json_close(json);
}

static void put_attribute(eg__json *json, const eg__node *node, const eg__attribute *a) {
    eg__attributes attributes = node->attributes;
    if (a->count > 1) put_list(json, node, a);
    else if (a->kind == EG__ATTRIBUTE_NUMBER)
        put_number(json, a->name, *eg__attribute_number(&attributes, a));
    else if (a->kind == EG__ATTRIBUTE_FLAG)
        eg__json_put_flag(json, a->name, eg__attribute_integer(&attributes, a, 0) != 0);
    else eg__json_put_integer(json, a->name, eg__attribute_integer(&attributes, a, 0));
}

static void put_attributes(eg__json *json, const eg__node *node) {
    const eg__attribute *list = eg__op_attributes(node->op);
    eg__attributes none;
    memset(&none, 0, sizeof none);
    if (eg__attributes_equal(node->op, &node->attributes, &none)) return;
    eg__json_open_object(json, "attributes");
    for (const eg__attribute *a = list; a->name; a++) put_attribute(json, node, a);
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
    put_attributes(json, node);
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

/* Names that operations had in older files. */
static const char *name_now(const char *name) {
    static const char *const names[][2] = {{"place", "slice_update"},
                                           {"take", "slice_at"},
                                           {"again", "barrier"},
                                           {"largest", "reduce_max"},
                                           {"small_matmul", "quantized_matmul"},
                                           {"stored_matmul", "infile_matmul"},
                                           {"stored_gather", "infile_gather"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0) return names[i][1];
    return name;
}

static bool find_operation(const char *name, eg__op_id *op, unsigned *kind) {
    for (unsigned id = 0; id < EG__GRAPH_COUNT; id++) {
        const eg__op *row = eg__op_row(id);
        for (unsigned k = 0; k < (row->kinds ? row->kinds : 1); k++)
            if (strcmp(row->kinds ? row->kind_name(k) : row->name, name) == 0) {
                *op = id;
                *kind = k;
                return true;
            }
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

/* ---- attributes of version 1: numbers in the order of the row, and one that may be no integer */
static eg_status set_by_index(eg__op_id op, const int64_t index[EG_RANK_MAX], double number,
                              eg__attributes *out) {
    unsigned next = 0;
    if (eg__op_row(op)->from_index) eg__op_row(op)->from_index(index, out);
    for (const eg__attribute *a = eg__op_attributes(op); a->name; a++) {
        if (a->kind == EG__ATTRIBUTE_NUMBER) *eg__attribute_number(out, a) = number;
        else if (!eg__op_row(op)->from_index)
            for (unsigned i = 0; i < a->count && next < EG_RANK_MAX; i++, next++)
                if (!eg__attribute_set(out, a, i, index[next])) return EG_ERR_FORMAT;
    }
    return EG_OK;
}

static eg_status read_by_index(const json_t *object, eg__op_id op, eg__attributes *out, size_t at,
                               eg_error *error) {
    const json_t *list = json_object_get(object, "index"), *word;
    int64_t index[EG_RANK_MAX] = {0};
    double number = 0;
    if (list && (!json_is_array(list) || json_array_size(list) > EG_RANK_MAX))
        return bad(error, at, "index is no list of at most 6 integers");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_integer(json_array_get(list, i)))
            return bad(error, at, "index holds something else than integers");
        index[i] = json_integer_value(json_array_get(list, i));
        if (index[i] < 0) return bad(error, at, "index holds a negative number");
    }
    word = json_object_get(object, "number");
    if (word && !number_from_json(word, &number)) return bad(error, at, "number is no number");
    return set_by_index(op, index, number, out) ? bad(error, at, "index holds a number too large")
                                                : EG_OK;
}

/* ---- attributes by name; those that are not there are zero */
static bool set_element(const eg__attribute *a, unsigned i, const json_t *value,
                        eg__attributes *out) {
    if (a->kind == EG__ATTRIBUTE_NUMBER)
        return number_from_json(value, eg__attribute_number(out, a));
    if (a->kind == EG__ATTRIBUTE_FLAG)
        return json_is_boolean(value) && eg__attribute_set(out, a, i, json_is_true(value));
    return json_is_integer(value) && eg__attribute_set(out, a, i, json_integer_value(value));
}

static bool set_attribute(const eg__attribute *a, const json_t *value, eg__attributes *out) {
    if (a->count == 1) return set_element(a, 0, value, out);
    bool fits = json_is_array(value) && json_array_size(value) <= a->count;
    for (unsigned i = 0; fits && i < json_array_size(value); i++)
        fits = set_element(a, i, json_array_get(value, i), out);
    return fits;
}

static eg_status read_attributes(const json_t *object, eg__op_id op, eg__attributes *out, size_t at,
                                 eg_error *error) {
    const json_t *all = json_object_get(object, "attributes");
    memset(out, 0, sizeof *out);
    if (!all) return read_by_index(object, op, out, at, error);
    size_t found = 0;
    for (const eg__attribute *a = eg__op_attributes(op); a->name; a++) {
        const json_t *value = json_object_get(all, a->name);
        if (value && !set_attribute(a, value, out))
            return eg__fail(error, EG_ERR_FORMAT, "node %zu: attribute '%s' has no such value", at,
                            a->name);
        found += value != NULL;
    }
    if (!json_is_object(all) || found != json_object_size(all))
        return bad(error, at, "attributes that its operation does not have");
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
        else if (eg__is_half(node->type))
            ((uint16_t *)node->data)[i] = eg__half_from_f32(node->type, (float)value);
        else ((float *)node->data)[i] = (float)value;
    }
    return EG_OK;
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

static eg_status make_node(eg_graph *graph, const json_t *object, unsigned kind, size_t count,
                           const eg_node *inputs, eg__node *like, size_t at, eg_node *made,
                           eg_error *error) {
    const eg__op *row = eg__op_row(like->op);
    const char *name = json_string_value(json_object_get(object, "name"));
    eg_status status = EG_OK;
    if (like->op == EG__GRAPH_constant) {
        if (like->type != EG_F32 && like->type != EG_I32 && !eg__is_half(like->type))
            return bad(error, at, "a constant is f32, i32, f16 or bf16");
        status = read_data(graph, json_object_get(object, "data"), like, at, error);
    }
    if (!status)
        *made = row->make
                    ? row->make(graph, name, like, inputs)
                    : eg__graph_add(graph, like->op, kind, count, inputs, &like->attributes,
                                    like); /* reshape and broadcast take their shape from it */
    eg__memory_give(graph->memory, like->data);
    return status;
}

static eg_status read_node(eg_graph *graph, const json_t *object, size_t at, eg_error *error) {
    enum { MOST = 64 };
    unsigned kind;
    eg__node like = {.rank = 0};
    eg_node inputs[MOST], made = {0};
    size_t count;
    const char *name = json_string_value(json_object_get(object, "op"));
    const char *type = json_string_value(json_object_get(object, "type"));
    if (!name || !find_operation(name_now(name), &like.op, &kind))
        return bad(error, at, "unknown operation");
    if (!type || eg_type_find(type, &like.type, NULL)) return bad(error, at, "unknown type");
    eg_status status = read_shape(json_object_get(object, "shape"), &like, at, error);
    if (!status)
        status = read_inputs(json_object_get(object, "inputs"), inputs, MOST, at, &count, error);
    if (!status) status = read_attributes(object, like.op, &like.attributes, at, error);
    if (status) return status;
    if (!eg__op_takes(like.op, count)) return bad(error, at, "wrong number of inputs");
    status = make_node(graph, object, kind, count, inputs, &like, at, &made, error);
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
    const json_int_t version = json_integer_value(json_object_get(document, "elegans_graph"));
    eg_graph *graph = NULL;
    if (version < 1 || version > VERSION || !json_is_array(nodes))
        status = eg__fail(error, EG_ERR_FORMAT, "no graph of version 1 to %d", VERSION);
    if (!status) status = eg__graph_new(memory, &graph, error);
    for (size_t i = 0; !status && i < json_array_size(nodes); i++)
        status = read_node(graph, json_array_get(nodes, i), i + 1, error);
    if (!status) status = read_updates(graph, nodes, error);
    json_decref(document);
    if (status) eg_graph_destroy(graph);
    else *out = graph;
    return status;
}
