/* Common subexpressions are computed once; dead code is removed. */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

#include <string.h>

typedef struct table {
    uint32_t *slot; /* nodes of the new graph, by hash; 0 = none */
    size_t size;    /* a power of two */
} table;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static size_t data_bytes(const eg__node *node) {
    return (size_t)eg__node_elements(node) * eg_type_bits(node->type) / 8;
}

static uint64_t hash_of(const eg_graph *g, const eg__node *node) {
    uint64_t hash = mix(node->op, node->kind);
    for (unsigned i = 0; i < node->rank; i++) hash = mix(hash, node->shape[i]);
    for (const eg__attribute *a = eg__op_attributes(node->op); a->name; a++)
        for (unsigned i = 0; i < a->count && a->kind != EG__ATTRIBUTE_NUMBER; i++)
            hash = mix(hash, (uint64_t)eg__attribute_integer(&node->attributes, a, i));
    for (unsigned i = 0; i < node->input_count; i++)
        hash = mix(hash, eg__node_input(g, node, i).id);
    const unsigned char *data = node->data;
    for (size_t i = 0; data && i < eg__min(data_bytes(node), 256); i++) hash = mix(hash, data[i]);
    return hash;
}

static bool same(const eg_graph *g, const eg__node *a, const eg__node *b) {
    if (a->op != b->op || a->kind != b->kind || a->type != b->type || a->scan != b->scan ||
        !eg__same_shape(a, b) || a->input_count != b->input_count ||
        !eg__attributes_equal(a->op, &a->attributes, &b->attributes))
        return false;
    for (unsigned i = 0; i < a->input_count; i++)
        if (eg__node_input(g, a, i).id != eg__node_input(g, b, i).id) return false;
    return !a->data || memcmp(a->data, b->data, data_bytes(a)) == 0;
}

static bool begin(eg__rewrite *r) {
    table *t = r->user;
    for (t->size = 64; t->size < 2 * (size_t)r->from->size; t->size *= 2) {
    }
    t->slot = eg__memory_take_array(r->from->memory, EG_TAG_GRAPH, t->size, sizeof *t->slot, NULL);
    if (!t->slot) eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory for a table of nodes");
    return t->slot != NULL;
}
static void end(eg__rewrite *r) {
    const table *t = r->user;
    eg__memory_give(r->from->memory, t->slot);
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    const table *t = r->user;
    eg_node copy = eg__rewrite_copy(r, id);
    if (!copy.id || eg__op_row(eg__old(r, id)->op)->is_unique) return copy;
    const eg__node *node = eg__node_at(r->to, copy);
    size_t at = (size_t)hash_of(r->to, node) & (t->size - 1);
    for (; t->slot[at]; at = (at + 1) & (t->size - 1))
        if (same(r->to, &r->to->nodes[t->slot[at]], node)) return (eg_node){t->slot[at]};
    t->slot[at] = copy.id;
    return copy;
}

eg_status eg__pass_cse(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                       eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {
        .rule = rule, .begin = begin, .end = end, .size = sizeof(table)};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
