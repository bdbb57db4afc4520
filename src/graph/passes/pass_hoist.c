/* Loop-invariant and per-step products that depend on no carry are hoisted out of a scan: one large
 * product for all steps before it. [x, h] W is split into x Wx + h Wh where x Wx can be hoisted;
 * biases go with it. Products of many rows are as fast in each step, so they stay in the scan if their results for all
 * steps would have to go through memory. */
#include "graph/passes/lift.h"
#include "graph/passes/passes.h"

enum { TERMS = 32 };
typedef struct sum {
    eg__lift *lift;
    uint32_t scan;
    unsigned early, late, outside; /* counts */
    uint32_t early_term[TERMS], late_term[TERMS], outside_term[TERMS];
    /* products whose left side concatenates hoistable and carried values */
    unsigned splits;
    uint32_t split[TERMS];
} sum;

/* Whether the node and all it depends on inside the scan can be computed for all steps at once. */
static bool is_early(const eg__lift *l, uint32_t id) {
    const eg__rewrite *r = l->r;
    const eg__node *node = eg__old(r, id);
    if (node->op == EG__GRAPH_step || !node->scan) return true;
    if (l->late[id] || !eg__lift_can(l, id)) return false;
    for (unsigned i = 0; i < node->input_count; i++)
        if (!is_early(l, eg__old_input(r, id, i))) return false;
    return true;
}

static bool has_product(const eg__lift *l, uint32_t id) {
    const eg__node *node = eg__old(l->r, id);
    if (!node->scan || node->op == EG__GRAPH_step) return false;
    if (node->op == EG__GRAPH_matmul || node->op == EG__GRAPH_synapses ||
        node->op == EG__GRAPH_conv)
        return true;
    for (unsigned i = 0; i < node->input_count; i++)
        if (has_product(l, eg__old_input(l->r, id, i))) return true;
    return false;
}

/* A product of a concat along the contracted axis whose inputs are partly hoistable and partly
 * not. */
static bool can_split(const eg__lift *l, uint32_t id) {
    const eg__rewrite *r = l->r;
    const eg__node *node = eg__old(r, id);
    if (node->op != EG__GRAPH_matmul || !eg__lift_can(l, id)) return false;
    const uint32_t left = eg__old_input(r, id, 0);
    const eg__node *a = eg__old(r, left), *b = eg__old(r, eg__old_input(r, id, 1));
    if (a->op != EG__GRAPH_concat || a->attributes.concat.axis != a->rank - 1 || b->rank != 2)
        return false;
    bool early = false, late = false;
    for (unsigned i = 0; i < a->input_count; i++)
        *(is_early(l, eg__old_input(r, left, i)) ? &early : &late) = true;
    return early && late;
}

static bool add_term(uint32_t *list, unsigned *count, uint32_t id) {
    if (*count == TERMS) return false;
    list[(*count)++] = id;
    return true;
}

/* Classifies the terms of the sum whose root is `id`. */
static bool collect(sum *s, uint32_t id, unsigned rank) {
    const eg__lift *l = s->lift;
    const eg__node *root = eg__old(l->r, id);
    const unsigned count = eg__is_add(root) ? 2 : 1;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t term = eg__is_add(root) ? eg__old_input(l->r, id, i) : id;
        const eg__node *node = eg__old(l->r, term);
        bool fits;
        if (eg__is_add(root) && eg__is_add(node) && node->scan && eg__rewrite_in_sum(l->r, term))
            fits = collect(s, term, rank);
        else if (!node->scan) fits = add_term(s->outside_term, &s->outside, term);
        else if (is_early(l, term) && node->rank == rank)
            fits = add_term(s->early_term, &s->early, term);
        else if (can_split(l, term) && (term == id || l->r->uses[term] == 1))
            fits = add_term(s->split, &s->splits, term);
        else fits = add_term(s->late_term, &s->late, term);
        if (!fits) return false;
    }
    return true;
}

/* The product of some of the concat's inputs with the rows of W that belong to them. */
static eg_node split_half(sum *s, uint32_t id, bool early) {
    eg__rewrite *r = s->lift->r;
    eg_graph *g = r->to;
    const uint32_t left = eg__old_input(r, id, 0);
    const eg__node *a = eg__old(r, left), *node = eg__old(r, id);
    const bool transposed = node->attributes.matmul.b_transposed;
    eg_node parts[64], rows[64];
    unsigned count = 0;
    uint64_t start = 0;
    for (unsigned i = 0; i < a->input_count && count < 64; i++) {
        const uint32_t part = eg__old_input(r, left, i);
        const uint64_t size = eg__old(r, part)->shape[a->rank - 1];
        if (is_early(s->lift, part) == early) {
            parts[count] = early ? eg__lift_node(s->lift, part) : r->map[part];
            rows[count++] = eg_slice(g, r->map[eg__old_input(r, id, 1)], transposed, start, size);
            if (early && !eg__old(r, part)->scan) { /* the same for all steps */
                uint64_t shape[EG_RANK_MAX] = {eg__old(r, s->scan)->attributes.scan.length};
                for (unsigned k = 0; k < eg__old(r, part)->rank; k++)
                    shape[k + 1] = eg__old(r, part)->shape[k];
                parts[count - 1] =
                    eg_broadcast(g, parts[count - 1], eg__old(r, part)->rank + 1, shape);
            }
        }
        start += size;
    }
    eg_node x = count == 1 ? parts[0] : eg_concat(g, a->rank - 1 + early, count, parts);
    eg_node w = count == 1 ? rows[0] : eg_concat(g, transposed, count, rows);
    return eg_matmul_transposed(g, x, 0, w, transposed);
}

static eg_node add_to(eg_graph *g, eg_node total, eg_node term) {
    return total.id ? eg_add(g, total, term) : term;
}

/* Whether the result of all steps is larger than a part of the L2 cache, although a product of one step has enough rows to be
 * fast. Quantized weights are dequantized for every product, so large ones are better. */
static bool is_better_inside(const eg__rewrite *r, const eg__node *node) {
    enum { ROWS = 8, BYTES = 1 << 20 };
    if (node->op == EG__GRAPH_conv || node->rank < 2 || ((const eg__lift *)r->user)->quantized)
        return false;
    const double elements = (double)eg__node_elements(node);
    const double steps = (double)eg__old(r, node->scan)->attributes.scan.length;
    return elements >= ROWS * (double)node->shape[node->rank - 1] &&
           elements * steps * sizeof(float) > BYTES;
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    eg__lift *lift = r->user;
    const eg__node *node = eg__old(r, id);
    eg_graph *g = r->to;
    if (node->scan && node->op == EG__GRAPH_synapses)
        return is_early(lift, id) ? eg_scan_step(g, r->map[node->scan], eg__lift_node(lift, id))
                                  : (eg_node){0};
    if (!node->scan ||
        (!eg__is_add(node) && node->op != EG__GRAPH_matmul && node->op != EG__GRAPH_conv) ||
        eg__rewrite_in_sum(r, id) || is_better_inside(r, node))
        return (eg_node){0};
    /* the whole sum is hoisted, unless a larger one that contains it is */
    if (is_early(lift, id)) {
        if (!has_product(lift, id)) return (eg_node){0};
        return eg_scan_step(g, r->map[node->scan], eg__lift_node(lift, id));
    }
    if (node->op == EG__GRAPH_conv) return (eg_node){0};
    sum s = {.lift = lift, .scan = node->scan};
    if (!collect(&s, id, node->rank)) return (eg_node){0};
    bool product = s.splits != 0;
    for (unsigned i = 0; i < s.early; i++) product = product || has_product(lift, s.early_term[i]);
    if (!product) return (eg_node){0};
    eg_node before = {0}, inside = {0};
    for (unsigned i = 0; i < s.early; i++)
        before = add_to(g, before, eg__lift_node(lift, s.early_term[i]));
    for (unsigned i = 0; i < s.splits; i++)
        before = add_to(g, before, split_half(&s, s.split[i], true));
    eg_node outside = {0}; /* a sum of biases alone is computed in the prologue anyway */
    for (unsigned i = 0; i < s.outside; i++)
        outside = add_to(g, outside, r->map[s.outside_term[i]]);
    if (outside.id) before = eg_add(g, before, outside);
    for (unsigned i = 0; i < s.splits; i++)
        inside = add_to(g, inside, split_half(&s, s.split[i], false));
    for (unsigned i = 0; i < s.late; i++) inside = add_to(g, inside, r->map[s.late_term[i]]);
    before = eg_scan_step(g, r->map[s.scan], before);
    return eg_add(g, inside, before);
}

eg_status eg__pass_hoist(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                         eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {
        .rule = rule, .begin = eg__lift_open, .end = eg__lift_close, .size = sizeof(eg__lift)};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
