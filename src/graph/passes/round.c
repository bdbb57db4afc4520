/* Rounds both sides of every product: a rewrite rule. */
#include "graph/passes/round.h"
#include "graph/passes/rewrite.h"

/* What is asked of the rewriter. */
typedef struct rounding {
    eg_type type;
    bool native; /* there are products of halves */
} rounding;
typedef struct sides {
    eg_node *rounded; /* per old node that is a side of a product */
} sides;

static eg_node side(eg__rewrite *r, uint32_t id, eg__unary kind) {
    eg_node *rounded = &((sides *)r->user)->rounded[id];
    if (!rounded->id) *rounded = eg__graph_add1(r->to, EG__GRAPH_unary, kind, r->map[id], NULL);
    return *rounded;
}

/* One right side for all rows. Short rows of a transposed left side are multiplied as they lie, without packing either side: that
 * is faster than halves that have to be packed. */
static bool is_plain(const eg__rewrite *r, uint32_t id) {
    enum { LONGEST = 256 };
    const eg__node *a = eg__old(r, eg__old_input(r, id, 0));
    const eg__node *b = eg__old(r, eg__old_input(r, id, 1));
    if (b->rank != 2) return false;
    return !eg__old(r, id)->attributes.matmul.a_transposed ||
           (a->rank == 2 && (a->shape[1] > LONGEST || b->shape[1] > LONGEST));
}

static eg_node product(eg__rewrite *r, uint32_t id) {
    const rounding *to = r->rewriter->given;
    const eg__node *node = eg__old(r, id);
    const eg__unary kind = to->type == EG_F16 ? EG__UNARY_round_f16 : EG__UNARY_round_bf16;
    if (node->op != EG__GRAPH_matmul || eg__old(r, eg__old_input(r, id, 0))->type != EG_F32)
        return (eg_node){0};
    if (to->native && is_plain(r, id))
        return eg__graph_add2(r->to, EG__GRAPH_matmul, to->type, r->map[eg__old_input(r, id, 0)],
                              r->map[eg__old_input(r, id, 1)], &node->attributes);
    return eg_matmul_transposed(
        r->to, side(r, eg__old_input(r, id, 0), kind), node->attributes.matmul.a_transposed,
        side(r, eg__old_input(r, id, 1), kind), node->attributes.matmul.b_transposed);
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
                             const eg__compile_options *options, const eg__kernels *kernels,
                             eg_error *error) {
    if (!eg__is_half(options->products)) return EG_OK;
    rounding to = {options->products,
                   kernels && !kernels->row[eg__halves_operation(options->products)]->widens};
    const eg__rewriter rewriter = {
        .rule = product, .begin = begin, .end = end, .size = sizeof(sides), .given = &to};
    eg_graph *next;
    eg_status status =
        eg__graph_rewrite(*graph, count, outputs, options->training, &rewriter, &next, error);
    if (status) return status;
    eg_graph_destroy(*graph);
    *graph = next;
    return EG_OK;
}
