/* Rounds both sides of every product: a rewrite rule. */
#include "graph/passes/round.h"
#include "graph/passes/rewrite.h"

typedef struct sides {
    eg_node *rounded; /* per old node that is a side of a product */
} sides;

static eg_node side(eg__rewrite *r, uint32_t id, eg__unary kind) {
    eg_node *rounded = &((sides *)r->user)->rounded[id];
    if (!rounded->id) *rounded = eg__graph_add1(r->to, EG__GRAPH_unary, kind, r->map[id], NULL);
    return *rounded;
}

static eg_node product(eg__rewrite *r, uint32_t id, eg__unary kind) {
    const eg__node *node = eg__old(r, id);
    if (node->op != EG__GRAPH_matmul) return (eg_node){0};
    return eg_matmul_transposed(
        r->to, side(r, eg__old_input(r, id, 0), kind), node->attributes.matmul.a_transposed,
        side(r, eg__old_input(r, id, 1), kind), node->attributes.matmul.b_transposed);
}
static eg_node product_f16(eg__rewrite *r, uint32_t id) {
    return product(r, id, EG__UNARY_round_f16);
}
static eg_node product_bf16(eg__rewrite *r, uint32_t id) {
    return product(r, id, EG__UNARY_round_bf16);
}

static bool begin(eg__rewrite *r) {
    sides *s = r->user;
    const size_t nodes = r->from->size + 1;
    s->rounded =
        eg__memory_take_array(r->from->memory, EG_TAG_GRAPH, nodes, sizeof *s->rounded, NULL);
    if (!s->rounded)
        eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory to look at %zu nodes", nodes);
    return s->rounded != NULL;
}
static void end(eg__rewrite *r) { eg__memory_give(r->from->memory, ((sides *)r->user)->rounded); }

eg_status eg__round_products(eg_graph **graph, size_t count, eg_node *outputs,
                             const eg__compile_options *options, eg_error *error) {
    static const eg__rewriter f16 = {
        .rule = product_f16, .begin = begin, .end = end, .size = sizeof(sides)};
    static const eg__rewriter bf16 = {
        .rule = product_bf16, .begin = begin, .end = end, .size = sizeof(sides)};
    eg_graph *next;
    if (options->products != EG_F16 && options->products != EG_BF16) return EG_OK;
    eg_status status = eg__graph_rewrite(*graph, count, outputs, options->training,
                                         options->products == EG_F16 ? &f16 : &bf16, &next, error);
    if (status) return status;
    eg_graph_destroy(*graph);
    *graph = next;
    return EG_OK;
}
