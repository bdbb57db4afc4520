/* Sums of products with the same left side become one product: x A + x B = x (A + B), where A and B
 * depend on parameters alone, so that the prologue computes A + B. Biases are added in the
 * prologue, too. Quantized weights are left alone: their sum would be f32 and larger than both. */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

enum { MANY = 64 };
typedef struct sum {
    uint32_t product[MANY], bias[MANY], other[MANY];
    unsigned products, biases, others;
} sum;

static bool is_inner_sum(const eg__rewrite *r, uint32_t id) {
    return eg__is_add(eg__old(r, id)) && eg__rewrite_in_sum(r, id);
}

static bool is_product(const eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    return node->op == EG__GRAPH_matmul && eg__old(r, eg__old_input(r, id, 0))->type == EG_F32 &&
           !node->attributes.matmul.a_transposed && !r->settled[id] &&
           r->settled[eg__old_input(r, id, 1)] && eg__old(r, eg__old_input(r, id, 1))->rank == 2 &&
           eg__old(r, eg__old_input(r, id, 1))->op != EG__GRAPH_widen && eg__rewrite_in_sum(r, id);
}

/* Sorted by right side, so that the forward and the backward pass share the same sum node. */
static void add_product(const eg__rewrite *r, sum *s, uint32_t id) {
    unsigned at = s->products++;
    for (; at && eg__old_input(r, s->product[at - 1], 1) > eg__old_input(r, id, 1); at--)
        s->product[at] = s->product[at - 1];
    s->product[at] = id;
}

static bool collect(const eg__rewrite *r, uint32_t id, sum *s) {
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t input = eg__old_input(r, id, i);
        if (s->products + s->biases + s->others == MANY) return false;
        if (is_inner_sum(r, input)) {
            if (!collect(r, input, s)) return false;
        } else if (is_product(r, input)) add_product(r, s, input);
        else if (r->settled[input]) s->bias[s->biases++] = input;
        else s->other[s->others++] = input;
    }
    return true;
}

static bool have_factor(const eg__rewrite *r, uint32_t a, uint32_t b) {
    return eg__old_input(r, a, 0) == eg__old_input(r, b, 0) &&
           eg__old(r, a)->attributes.matmul.b_transposed ==
               eg__old(r, b)->attributes.matmul.b_transposed;
}

static bool any_factor(const eg__rewrite *r, const sum *s) {
    for (unsigned i = 1; i < s->products; i++)
        for (unsigned k = 0; k < i; k++)
            if (have_factor(r, s->product[i], s->product[k])) return true;
    return false;
}

/* sum + x, where sum {0} means nothing yet. */
static eg_node plus(eg_graph *g, eg_node total, eg_node x) {
    return total.id ? eg_add(g, total, x) : x;
}

/* Combines product i with all later ones of the same left side and removes those from the list. */
static eg_node product(eg__rewrite *r, sum *s, unsigned i) {
    const uint32_t id = s->product[i];
    eg_node right = r->map[eg__old_input(r, id, 1)];
    unsigned kept = i + 1;
    for (unsigned k = i + 1; k < s->products; k++) {
        if (have_factor(r, id, s->product[k]))
            right = eg_add(r->to, right, r->map[eg__old_input(r, s->product[k], 1)]);
        else s->product[kept++] = s->product[k];
    }
    s->products = kept;
    return eg_matmul_transposed(r->to, r->map[eg__old_input(r, id, 0)], 0, right,
                                eg__old(r, id)->attributes.matmul.b_transposed);
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    sum s = {.products = 0};
    eg_graph *g = r->to;
    eg_node total = {0}, bias = {0};
    if (!eg__is_add(eg__old(r, id)) || r->settled[id] || is_inner_sum(r, id) ||
        !collect(r, id, &s) || !any_factor(r, &s))
        return total;
    for (unsigned i = 0; i < s.biases; i++) bias = plus(g, bias, r->map[s.bias[i]]);
    for (unsigned i = 0; i < s.products; i++) {
        total = plus(g, total, product(r, &s, i));
        if (!i && bias.id) total = eg_add(g, total, bias);
    }
    for (unsigned i = 0; i < s.others; i++) total = eg_add(g, total, r->map[s.other[i]]);
    return total;
}

eg_status eg__pass_factor(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                          eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {.rule = rule};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
