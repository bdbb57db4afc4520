/* Building graphs: nodes, their mistakes, and queries. */
#include "base/abi.h"
#include "graph/ops/kv.h"
#include "graph/ops/quantized.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const eg__op *const table[EG__GRAPH_COUNT] = {
#define OP(name, least, most, attributes) &eg__op_##name,
#include "graph/ops/ops.def"
};

const eg__op *eg__op_row(eg__op_id op) { return table[op]; }

bool eg__op_takes(eg__op_id op, size_t inputs) {
    static const unsigned limits[EG__GRAPH_COUNT][2] = {
#define OP(name, least, most, attributes) {least, most},
#include "graph/ops/ops.def"
    };
    return inputs >= limits[op][0] && inputs <= limits[op][1];
}

unsigned eg__read_count(const eg__node *node) {
    return node->input_count - table[node->op]->waited;
}

/* ---- the data of constants: reference-counted, the count is stored before the data */
enum { COUNTED = 64 };

static int64_t *owners(void *data) { return (int64_t *)(void *)((char *)data - COUNTED); }

int64_t *eg__numbers_memo(void *data) { return owners(data) + 1; }

void *eg__numbers_take(eg__memory *memory, size_t bytes, eg_error *error) {
    if (bytes > SIZE_MAX - COUNTED) {
        eg__fail(error, EG_ERR_OVERFLOW, "a constant of %zu bytes", bytes);
        return NULL;
    }
    char *memory_of = eg__memory_take(memory, EG_TAG_GRAPH, COUNTED + bytes, error);
    if (!memory_of) return NULL;
    void *data = memory_of + COUNTED;
    *owners(data) = 1;
    *eg__numbers_memo(data) = 0;
    return data;
}

void *eg__numbers_keep(void *data) {
    __atomic_add_fetch(owners(data), 1, __ATOMIC_RELAXED);
    return data;
}

void eg__numbers_give(eg__memory *memory, void *data) {
    if (data && __atomic_sub_fetch(owners(data), 1, __ATOMIC_ACQ_REL) == 0)
        eg__memory_give(memory, owners(data));
}

/* ---- graphs */
eg_status eg__graph_new(eg__memory *memory, eg_graph **out, eg_error *error) {
    *out = NULL;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg_graph *graph = eg__memory_take_zeroed(memory, EG_TAG_GRAPH, sizeof *graph, &reason);
    if (!graph) return eg__fail(error, reason.status, "%s", reason.message);
    graph->memory = memory;
    *out = graph;
    return EG_OK;
}

void eg_graph_destroy(eg_graph *graph) {
    if (!graph) return;
    for (uint32_t i = 1; i <= graph->size; i++) {
        eg__memory_give(graph->memory, graph->nodes[i].name);
        if (!graph->nodes[i].data_is_lent) eg__numbers_give(graph->memory, graph->nodes[i].data);
    }
    eg__memory_give(graph->memory, graph->nodes);
    eg__memory_give(graph->memory, graph->inputs);
    eg__memory_give(graph->memory, graph);
}

eg_status eg_graph_check(const eg_graph *graph, eg_error *error) {
    if (!graph) return eg__fail(error, EG_ERR_ARGUMENT, "no graph");
    if (graph->mistake.status == EG_OK) return EG_OK;
    return eg__fail(error, graph->mistake.status, "%s", graph->mistake.message);
}

void eg_graph_forgive(eg_graph *graph) {
    if (graph) graph->mistake = (eg_error){EG_OK, ""};
}

eg_node eg__graph_mistake(eg_graph *graph, eg_status status, const char *format, ...) {
    if (graph && graph->mistake.status == EG_OK) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(graph->mistake.message, sizeof graph->mistake.message, format, arguments);
        va_end(arguments);
        graph->mistake.status = status;
    }
    return (eg_node){0};
}

uint64_t eg__node_elements(const eg__node *node) {
    uint64_t elements = 1;
    for (unsigned i = 0; i < node->rank; i++) elements *= node->shape[i]; /* checked when made */
    return elements;
}

bool eg__same_shape(const eg__node *a, const eg__node *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

const char *eg__shape_text(const eg__node *node, char out[160]) {
    int at = snprintf(out, 160, "[");
    for (unsigned i = 0; i < node->rank; i++)
        at += snprintf(out + at, (size_t)(160 - at), "%s%llu", i ? ", " : "",
                       (unsigned long long)node->shape[i]);
    snprintf(out + at, (size_t)(160 - at), "]");
    return out;
}

static bool reserve(eg_graph *graph, size_t inputs) {
    size_t room = graph->room;
    void *nodes = graph->nodes, *edges = graph->inputs;
    bool fits = eg__memory_grow(graph->memory, EG_TAG_GRAPH, &nodes, graph->size + 1, &room, 1,
                                sizeof *graph->nodes);
    graph->nodes = nodes;
    graph->room = (uint32_t)room;
    fits = fits && eg__memory_grow(graph->memory, EG_TAG_GRAPH, &edges, graph->inputs_size,
                                   &graph->inputs_room, inputs, sizeof *graph->inputs);
    graph->inputs = edges;
    return fits;
}

/* Finds the scan that a node with these inputs is inside; false for inputs of two different scans.
 * Operations that leave a scan (stack, total, last) are outside, those that enter it (carry, step)
 * are inside. */
static bool find_scan(const eg_graph *graph, eg__op_id op, size_t count, const eg_node *inputs,
                      uint32_t *scan) {
    *scan = 0;
    if (table[op]->scan_side == EG__SCAN_ENTERS) {
        *scan = inputs[0].id;
        return graph->nodes[inputs[1].id].scan == 0;
    }
    if (table[op]->scan_side == EG__SCAN_LEAVES) return true;
    for (size_t i = 0; i < count; i++) {
        uint32_t inside = graph->nodes[inputs[i].id].scan;
        if (inside && *scan && inside != *scan) return false;
        if (inside) *scan = inside;
    }
    return true;
}

static eg_status check_size(const eg__node *node, eg_error *error) {
    eg_tensor tensor = {.type = node->type, .rank = node->rank};
    memcpy(tensor.shape, node->shape, sizeof tensor.shape);
    return eg_tensor_measure(&tensor, NULL, NULL, error);
}

eg_node eg__graph_add(eg_graph *graph, eg__op_id op, unsigned kind, size_t count,
                      const eg_node *inputs, const eg__attributes *attributes,
                      const eg__node *like) {
    if (!graph) return (eg_node){0};
    for (size_t i = 0; i < count; i++) {
        if (!inputs[i].id) return (eg_node){0};
        if (inputs[i].id > graph->size)
            return eg__graph_mistake(graph, EG_ERR_ARGUMENT, "%s: node %u is not in this graph",
                                     table[op]->name, inputs[i].id);
        if (graph->nodes[inputs[i].id].op == EG__GRAPH_scan && (i || !table[op]->scan_side))
            return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                     "%s: a scan has no value of its own; use a stack, sum or last "
                                     "of it",
                                     table[op]->name);
        const eg__node *input = &graph->nodes[inputs[i].id];
        if (eg__is_half(input->type) && !table[op]->moves && !table[op]->takes_halves &&
            !eg__is_quantized_leaf(input))
            return eg__graph_mistake(
                graph, EG_ERR_ARGUMENT, "%s: input %zu, '%s' of type '%s', must be cast to f32",
                table[op]->name, i, input->name ? input->name : eg__node_operation(input),
                eg_type_name(input->type));
        const uint32_t cache = eg__kv_of(graph, inputs[i].id);
        if (cache && !eg__kv_is_taken(op, i))
            return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                     "%s: cache '%s' is read by attention_cached only",
                                     table[op]->name, graph->nodes[cache].name);
    }
    if (graph->mistake.status) return (eg_node){0};
    if (graph->size >= UINT32_MAX / 2 || !reserve(graph, count))
        return eg__graph_mistake(graph, EG_ERR_MEMORY, "no memory for node %u", graph->size + 1);
    eg__node *node = &graph->nodes[graph->size + 1];
    memset(node, 0, sizeof *node);
    if (like) *node = *like;
    node->op = op;
    node->kind = kind;
    if (attributes) node->attributes = *attributes;
    node->first_input = (uint32_t)graph->inputs_size;
    node->input_count = (uint32_t)count;
    if (count) memcpy(graph->inputs + graph->inputs_size, inputs, count * sizeof *inputs);
    eg_error reason = {EG_OK, ""};
    eg_status status = EG_OK;
    if (!find_scan(graph, op, count, inputs, &node->scan))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                 "%s: inputs are inside two different scans",
                                 eg__node_operation(node));
    if (table[op]->infer) status = table[op]->infer(graph, node, &reason);
    if (!status) status = check_size(node, &reason);
    if (status)
        return eg__graph_mistake(graph, status, "%s: %s", eg__node_operation(node), reason.message);
    graph->inputs_size += count;
    graph->size++;
    return (eg_node){graph->size};
}

const char *eg__node_operation(const eg__node *node) {
    const eg__op *op = table[node->op];
    return op->kind_name ? op->kind_name(node->kind) : op->name;
}

size_t eg_graph_size(const eg_graph *graph) { return graph ? graph->size : 0; }

/* Bits per element; block formats include their share of the scale. */
static double number_bytes(const eg__node *node) {
    eg__infile_format format;
    if (!eg__leaf_format(node, &format)) return eg_type_bits(node->type) / 8.0;
    const eg__infile_traits *of = eg__infile_traits_of(format);
    return (double)of->block_bytes / (double)of->block_elements;
}

static double node_bytes(const eg_graph *graph, const eg__node *node) {
    double bytes = (double)eg__node_elements(node) * eg_type_bits(node->type) / 8;
    for (unsigned i = 0; i < node->input_count; i++) {
        const eg__node *input = eg__node_at(graph, eg__node_input(graph, node, i));
        const double read = table[node->op]->reads ? table[node->op]->reads(graph, node, i)
                                                   : (double)eg__node_elements(input);
        bytes += read * number_bytes(input);
    }
    return bytes;
}

eg_status eg_graph_node(const eg_graph *graph, eg_node node, eg_node_info *out, eg_error *error) {
    if (!graph || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no graph or no output pointer");
    if (!node.id || node.id > graph->size)
        return eg__fail(error, EG_ERR_ARGUMENT, "no node %u in a graph of %u", node.id,
                        graph->size);
    const eg__node *n = eg__node_at(graph, node);
    eg_node_info info = {.operation = eg__node_operation(n),
                         .name = n->name,
                         .type = n->type,
                         .rank = n->rank,
                         .scan = n->scan,
                         .input_count = n->input_count,
                         .inputs = graph->inputs + n->first_input,
                         .flops = table[n->op]->flops ? table[n->op]->flops(graph, n) : 0,
                         .bytes = n->input_count ? node_bytes(graph, n) : 0};
    memcpy(info.shape, n->shape, sizeof info.shape);
    EG__INFO(eg_node_info, out, &info);
    return EG_OK;
}
