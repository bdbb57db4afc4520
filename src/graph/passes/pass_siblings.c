/* Products with the same left side, whose right sides depend on parameters alone, become one: x [A
 * B C]. Sums of products of elementwise values become one, too: a A + b B = [a b] [A; B]. */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

typedef struct family {
    uint32_t *eldest; /* per old product: the first with the same left side; 0 = no sibling */
    eg_node *merged;  /* per first sibling: the merged product */
} family;

static bool is_candidate(const eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    return r->reachable[id] && node->op == EG__GRAPH_matmul && !r->settled[id] &&
           r->settled[eg__old_input(r, id, 1)] && eg__old(r, eg__old_input(r, id, 1))->rank == 2 &&
           !node->attributes.matmul.a_transposed;
}

static bool are_siblings(const eg__rewrite *r, uint32_t a, uint32_t b) {
    return eg__old_input(r, a, 0) == eg__old_input(r, b, 0) &&
           eg__old(r, a)->attributes.matmul.b_transposed ==
               eg__old(r, b)->attributes.matmul.b_transposed;
}

static void find(eg__rewrite *r, family *f) {
    /* a product links to the previous one with the same left side: path to the first sibling */
    for (uint32_t i = 1; i <= r->from->size; i++) {
        if (!is_candidate(r, i)) continue;
        for (uint32_t k = 1; k < i && !f->eldest[i]; k++)
            if (is_candidate(r, k) && are_siblings(r, i, k)) {
                const uint32_t eldest = f->eldest[k] ? f->eldest[k] : k;
                f->eldest[i] = f->eldest[eldest] = eldest;
            }
    }
}

/* The bias, if adding it is the product's only use; 0 = none. */
static uint32_t bias_of(const eg__rewrite *r, uint32_t id) {
    const uint32_t user = r->used_by[id];
    if (!eg__rewrite_in_sum(r, id)) return 0;
    const uint32_t a = eg__old_input(r, user, 0), bias = a == id ? eg__old_input(r, user, 1) : a;
    const eg__node *b = eg__old(r, bias);
    const bool fits = r->settled[bias] && b->rank == 1 &&
                      b->shape[0] == eg__old(r, id)->shape[eg__old(r, id)->rank - 1];
    return fits ? bias : 0;
}

static bool all_have_bias(const eg__rewrite *r, const family *f, uint32_t eldest) {
    for (uint32_t i = eldest; i <= r->from->size; i++)
        if (f->eldest[i] == eldest && !bias_of(r, i)) return false;
    return true;
}

enum { MANY = 64 };
static eg_node merge(eg__rewrite *r, family *f, uint32_t eldest, bool biased) {
    eg_graph *g = r->to;
    const unsigned axis = eg__old(r, eldest)->attributes.matmul.b_transposed ? 0 : 1;
    eg_node parts[MANY], biases[MANY];
    unsigned count = 0;
    for (uint32_t i = eldest; i <= r->from->size && count < MANY; i++) {
        if (f->eldest[i] != eldest) continue;
        parts[count] = r->map[eg__old_input(r, i, 1)];
        if (biased) biases[count] = r->map[bias_of(r, i)];
        count++;
    }
    eg_node w = eg_concat(g, axis, count, parts);
    eg_node y = eg_matmul_transposed(g, r->map[eg__old_input(r, eldest, 0)], 0, w, axis == 0);
    return biased ? eg_add(g, y, eg_concat(g, 0, count, biases)) : y;
}

static unsigned family_size(const eg__rewrite *r, const family *f, uint32_t eldest) {
    unsigned size = 0;
    for (uint32_t i = eldest; i <= r->from->size; i++) size += f->eldest[i] == eldest;
    return size;
}

/* The columns of the merged product that are product `id`. */
static eg_node share(eg__rewrite *r, family *f, uint32_t id, bool biased) {
    const uint32_t eldest = f->eldest[id];
    if (!f->merged[eldest].id) f->merged[eldest] = merge(r, f, eldest, biased);
    const unsigned last = eg__old(r, id)->rank - 1;
    uint64_t start = 0;
    for (uint32_t i = eldest; i < id; i++)
        if (f->eldest[i] == eldest) start += eg__old(r, i)->shape[last];
    return eg_slice(r->to, f->merged[eldest], last, start, eg__old(r, id)->shape[last]);
}

/* ---- sums of products of elementwise values */
static bool is_summand(const eg__rewrite *r, uint32_t id) {
    if (!is_candidate(r, id) || r->uses[id] != 1) return false;
    const eg__op_id left = eg__old(r, eg__old_input(r, id, 0))->op;
    return left == EG__GRAPH_unary || left == EG__GRAPH_binary || left == EG__GRAPH_select;
}

typedef struct sum {
    uint32_t product[MANY], other[MANY];
    unsigned products, others;
} sum;

static bool is_inner_sum(const eg__rewrite *r, uint32_t id) {
    return eg__is_add(eg__old(r, id)) && eg__rewrite_in_sum(r, id);
}

static bool collect(const eg__rewrite *r, const family *f, uint32_t id, sum *s) {
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t input = eg__old_input(r, id, i);
        if (is_inner_sum(r, input)) {
            if (!collect(r, f, input, s)) return false;
        } else if (s->products + s->others == MANY) return false;
        else if (is_summand(r, input) && eg__same_shape(eg__old(r, input), eg__old(r, id)) &&
                 !f->eldest[input])
            s->product[s->products++] = input;
        else s->other[s->others++] = input;
    }
    return true;
}

static eg_node join_sum(eg__rewrite *r, const family *f, uint32_t id) {
    sum s = {.products = 0};
    eg_node left[MANY], right[MANY];
    eg_graph *g = r->to;
    if (is_inner_sum(r, id) || !collect(r, f, id, &s) || s.products < 2) return (eg_node){0};
    const bool transposed = eg__old(r, s.product[0])->attributes.matmul.b_transposed;
    const unsigned rank = eg__old(r, s.product[0])->rank;
    for (unsigned i = 0; i < s.products; i++) {
        const uint32_t a = eg__old_input(r, s.product[i], 0);
        if (eg__old(r, s.product[i])->attributes.matmul.b_transposed != transposed ||
            eg__old(r, a)->rank != rank)
            return (eg_node){0};
        left[i] = r->map[a];
        right[i] = r->map[eg__old_input(r, s.product[i], 1)];
    }
    eg_node total = eg_matmul_transposed(g, eg_concat(g, rank - 1, s.products, left), 0,
                                         eg_concat(g, transposed, s.products, right), transposed);
    for (unsigned i = 0; i < s.others; i++) total = eg_add(g, total, r->map[s.other[i]]);
    return total;
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    family *f = r->user;
    const eg__node *node = eg__old(r, id);
    if (eg__is_add(node) && !r->settled[id]) {
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t product = eg__old_input(r, id, i), eldest = f->eldest[product];
            if (eldest && bias_of(r, product) && all_have_bias(r, f, eldest) &&
                family_size(r, f, eldest) <= MANY)
                return share(r, f, product, true);
        }
        return join_sum(r, f, id);
    }
    const uint32_t eldest = f->eldest[id];
    if (!eldest || family_size(r, f, eldest) > MANY) return (eg_node){0};
    if (all_have_bias(r, f, eldest)) return (eg_node){0}; /* the bias is merged with it */
    return share(r, f, id, false);
}

static bool begin(eg__rewrite *r) {
    family *f = r->user;
    eg__memory *memory = r->from->memory;
    const size_t nodes = r->from->size + 1;
    f->eldest = eg__memory_take_array(memory, EG_TAG_GRAPH, nodes, sizeof *f->eldest, NULL);
    f->merged = eg__memory_take_array(memory, EG_TAG_GRAPH, nodes, sizeof *f->merged, NULL);
    if (f->eldest && f->merged) {
        find(r, f);
        return true;
    }
    eg__graph_mistake(r->to, EG_ERR_MEMORY, "no memory to look at %zu nodes", nodes);
    return false;
}
static void end(eg__rewrite *r) {
    const family *f = r->user;
    eg__memory_give(r->from->memory, f->eldest);
    eg__memory_give(r->from->memory, f->merged);
}

eg_status eg__pass_siblings(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                            eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {
        .rule = rule, .begin = begin, .end = end, .size = sizeof(family)};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
