/* cache: a state that is kept as f32, f16 or int8; append: rows written to slots of it. */
#include "graph/ops/kv.h"
#include "graph/lower/lower.h"

#include <math.h>
#include <string.h>

enum { CACHE, ROWS, SLOTS };

/* ---- which nodes refer to a cache */
uint32_t eg__kv_of(const eg_graph *graph, uint32_t id) {
    const eg__node *node = &graph->nodes[id];
    while (node->op == EG__GRAPH_append || node->op == EG__GRAPH_update) {
        id = eg__node_input(graph, node, CACHE).id; /* input 0 of an update is the state */
        node = &graph->nodes[id];
    }
    return node->op == EG__GRAPH_cache ? id : 0;
}

bool eg__kv_layout(const eg__node *cache, eg__kv_rows *out) {
    const eg__cache_attributes *of = &cache->attributes.cache;
    const eg_type type = of->bits == 32   ? EG_F32
                         : of->bits == 16 ? EG_F16
                         : of->bits == 8  ? EG_I8
                                          : EG_TYPE_COUNT;
    return cache->rank == 2 && of->heads && of->d && type != EG_TYPE_COUNT &&
           eg__kv_rows_make(type, cache->shape[0], of->heads, of->d, out) &&
           cache->shape[1] == (uint64_t)out->heads * out->d;
}

bool eg__kv_is_taken(eg__op_id op, size_t i) {
    return op == EG__GRAPH_update || (op == EG__GRAPH_append && i == CACHE) ||
           (op == EG__GRAPH_attention_cached && (i == 1 || i == 2));
}

/* ---- building */
eg_node eg_cache(eg_graph *graph, const char *name, eg_type type, uint64_t slots, uint32_t heads,
                 uint32_t d) {
    if (!graph) return (eg_node){0};
    eg__kv_rows rows;
    if (type != EG_F32 && type != EG_F16 && type != EG_I8)
        return eg__graph_mistake(graph, EG_ERR_UNSUPPORTED,
                                 "cache '%s': type '%s' is not supported, only f32, f16 and i8",
                                 name ? name : "", eg_type_name(type));
    if (!eg__kv_rows_make(type, slots, heads, d, &rows))
        return eg__graph_mistake(graph, EG_ERR_ARGUMENT,
                                 "cache '%s': %llu slots of %u heads x %u columns are zero or "
                                 "too large",
                                 name ? name : "", (unsigned long long)slots, heads, d);
    const uint64_t shape[] = {slots, (uint64_t)heads * d};
    const eg_node node = eg__graph_leaf(graph, EG__GRAPH_cache, name, EG_F32, 2, shape);
    if (node.id)
        eg__node_at(graph, node)->attributes.cache =
            (eg__cache_attributes){.heads = heads, .d = d, .bits = eg_type_bits(type)};
    return node;
}

eg_node eg_append(eg_graph *graph, eg_node cache, eg_node rows, eg_node slots) {
    const eg_node inputs[] = {cache, rows, slots};
    return eg__graph_add(graph, EG__GRAPH_append, 0, 3, inputs, NULL, NULL);
}

static const eg__node *input_at(const eg_graph *graph, const eg__node *node, unsigned i) {
    return eg__node_at(graph, eg__node_input(graph, node, i));
}

static eg_status infer(const eg_graph *graph, eg__node *node, eg_error *error) {
    const eg__node *cache = input_at(graph, node, CACHE), *rows = input_at(graph, node, ROWS),
                   *slots = input_at(graph, node, SLOTS);
    char first[160], second[160];
    if (cache->op != EG__GRAPH_cache && cache->op != EG__GRAPH_append)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%s' is not a cache or an append",
                        eg__node_operation(cache));
    if (node->scan) return eg__fail(error, EG_ERR_ARGUMENT, "append cannot be inside a scan");
    if (rows->type != EG_F32 || rows->rank != 3 || rows->shape[2] != cache->shape[1])
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "rows are %s %s, needs f32 [batch, time, columns] for a cache "
                        "%s",
                        eg_type_name(rows->type), eg__shape_text(rows, first),
                        eg__shape_text(cache, second));
    if (slots->type != EG_I32 || slots->rank != 2 || slots->shape[0] != rows->shape[0] ||
        slots->shape[1] != rows->shape[1])
        return eg__fail(
            error, EG_ERR_ARGUMENT, "slots are %s %s, needs i32 [batch, time] for rows %s",
            eg_type_name(slots->type), eg__shape_text(slots, first), eg__shape_text(rows, second));
    eg__shape_copy(node, cache);
    return EG_OK;
}

/* ---- the definition, including the rounding to the stored type */
static void round_f16(uint64_t n, const double *from, double *to) {
    for (uint64_t i = 0; i < n; i++) {
        const float x = (float)from[i];
        uint16_t half;
        float wide;
        eg__f32_to_f16_ref(1, &x, &half);
        eg__f16_to_f32_ref(1, &half, &wide);
        to[i] = (double)wide;
    }
}
static void round_head(uint64_t n, const double *from, double *to) {
    double largest = 0, zero = 0;
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)(float)from[i]));
        zero += (double)(float)from[i] * 0;
    }
    const float scale = zero == 0 ? (float)largest / 127 : NAN;
    for (uint64_t i = 0; i < n; i++)
        to[i] = (double)eg__kv_nearest((float)from[i], scale) * (double)scale;
}

static void evaluate(const eg_graph *graph, const eg__node *node, const double *const *in,
                     double *out) {
    const uint32_t cache = eg__kv_of(graph, eg__node_input(graph, node, CACHE).id);
    const uint64_t columns = node->shape[1],
                   count = eg__node_elements(input_at(graph, node, SLOTS));
    eg__kv_rows rows;
    if (!eg__kv_layout(&graph->nodes[cache], &rows)) return; /* checked when it was made */
    memcpy(out, in[CACHE], (size_t)eg__node_elements(node) * sizeof *out);
    for (uint64_t r = 0; r < count; r++) {
        const double slot = in[SLOTS][r], *from = in[ROWS] + r * columns;
        if (!(slot >= 0 && slot < (double)rows.slots)) continue;
        double *to = out + (uint64_t)slot * columns;
        if (rows.type == EG_F16) round_f16(columns, from, to);
        for (uint64_t i = 0; rows.type == EG_F32 && i < columns; i++) to[i] = from[i];
        for (uint64_t h = 0; rows.type == EG_I8 && h < rows.heads; h++)
            round_head(rows.d, from + h * rows.d, to + h * rows.d);
    }
}

/* Reads of the cache: the rows that are not replaced. */
static double reads(const eg_graph *graph, const eg__node *node, unsigned i) {
    const double all = (double)eg__node_elements(input_at(graph, node, i));
    const double stays = all - (double)eg__node_elements(input_at(graph, node, ROWS));
    return i == CACHE ? fmax(stays, 0) : all;
}

/* ---- steps. A cache is never copied: append works in place, so the old value must have been read
 * already and the appended value must be the cache's update. */
static bool becomes(const eg__lowering *l, uint32_t cache, uint32_t id) {
    const uint32_t update = eg__lower_node(l, cache)->next;
    if (!update) return false;
    uint32_t value = eg__lower_input(l, update, 1);
    while (value != id && eg__lower_node(l, value)->op == EG__GRAPH_append)
        value = eg__lower_input(l, value, CACHE);
    return value == id;
}

static bool is_read_later(const eg__lowering *l, uint32_t old, uint32_t id) {
    const uint32_t position = l->units[l->unit[id]].position;
    for (uint32_t k = l->user_first[old]; k < l->user_first[old + 1]; k++) {
        const uint32_t user = l->users[k];
        if (user == id || eg__lower_node(l, user)->op == EG__GRAPH_update) continue;
        if (l->region[user] != l->region[id] || l->units[l->unit[user]].position > position)
            return true;
    }
    return false;
}

static void lower(eg__lowering *l, uint32_t id) {
    const uint32_t old = eg__lower_input(l, id, CACHE), cache = eg__kv_of(l->graph, old);
    const eg__node *node = eg__lower_node(l, id), *leaf = eg__lower_node(l, cache);
    const eg__matrix rows = eg__lower_rows(l, eg__lower_input(l, id, ROWS));
    const eg__view slots = eg__lower_contiguous(l, eg__lower_input(l, id, SLOTS));
    const eg__view home = eg__lower_value(l, old);
    if (l->status) return;
    if (!becomes(l, cache, id))
        eg__lower_fail(l, EG_ERR_UNSUPPORTED,
                       "append: cache '%s' must be updated with the appended value "
                       "(eg_update), because caches are never copied",
                       leaf->name);
    else if (is_read_later(l, old, id))
        eg__lower_fail(l, EG_ERR_UNSUPPORTED,
                       "append: cache '%s' is read after rows were appended in place; "
                       "read the appended value instead",
                       leaf->name);
    l->value[id] = home;
    l->located[id] = 1;
    eg__step step = eg__lower_begin(id, EG__STEP_append);
    step.items = 1;
    step.rows = rows.rows;
    step.columns = (size_t)node->shape[1];
    eg__kv_layout(leaf, &step.u.append.rows);
    if (l->status || !rows.rows) return;
    step.bytes = (double)rows.rows * (sizeof(int32_t) + sizeof(float) * (double)step.columns +
                                      (double)step.u.append.rows.size);
    const eg__operand operands[] = {
        eg__lower_operand(&step, &rows.view, rows.stride, false),
        eg__lower_operand(&step, &slots, 1, false),
        eg__lower_operand(&step, &home, step.u.append.rows.size / sizeof(float), false)};
    eg__lower_emit(l, l->region[id], &step, 3, operands);
}

static eg_node make(eg_graph *graph, const char *name, const eg__node *like,
                    const eg_node *inputs) {
    const eg__cache_attributes *of = &like->attributes.cache;
    eg__kv_rows rows;
    (void)inputs;
    if (!eg__kv_layout(like, &rows))
        return eg__graph_mistake(
            graph, EG_ERR_FORMAT, "cache: %llu heads of %llu columns with %llu bits are not valid",
            (unsigned long long)of->heads, (unsigned long long)of->d, (unsigned long long)of->bits);
    return eg_cache(graph, name, rows.type, rows.slots, (uint32_t)rows.heads, (uint32_t)rows.d);
}

const eg__op eg__op_cache = {.name = "cache", .is_unique = true, .make = make};
const eg__op eg__op_append = {
    .name = "append", .infer = infer, .reads = reads, .evaluate = evaluate, .lower = lower};
