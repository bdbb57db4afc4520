/* Inputs in file layout are read in place by products x W' and by gathers of rows; for all other
 * users every run widens them. Gathers also read large quantized parameters in place: an embedding
 * table would be four times as large in f32. */
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "graph/ops/quantized.h"

typedef struct rows {
    uint32_t leaf; /* old node */
    uint64_t first, count;
} rows;

/* The smallest table for which it pays, in elements: widened it would take 1 MiB. */
enum { LARGE = 1 << 18 };

/* Follows slices of rows down to the widen node of an input in file layout or of a parameter. */
static bool find_rows(const eg__rewrite *r, uint32_t id, rows *out) {
    out->first = 0;
    out->count = eg__old(r, id)->rank ? eg__old(r, id)->shape[0] : 0;
    const eg__node *node = eg__old(r, id);
    for (; node->op == EG__GRAPH_slice && node->attributes.slice.axis == 0; node = eg__old(r, id)) {
        out->first += node->attributes.slice.start;
        id = eg__old_input(r, id, 0);
    }
    if (node->op != EG__GRAPH_widen || node->scan) return false;
    out->leaf = eg__old_input(r, id, 0);
    return true;
}

static bool is_input(const eg__rewrite *r, const rows *found) {
    return eg__old(r, found->leaf)->op == EG__GRAPH_input;
}

/* The right side of a product, with transposes resolved. */
static bool find_right(const eg__rewrite *r, uint32_t id, bool turned, rows *out) {
    const eg__node *node = eg__old(r, id);
    if (node->rank != 2) return false;
    if (!turned && node->op == EG__GRAPH_transpose && node->attributes.transpose.order[0] == 1)
        return find_rows(r, eg__old_input(r, id, 0), out);
    return turned && find_rows(r, id, out);
}

static eg_node rule(eg__rewrite *r, uint32_t id) {
    const eg__node *node = eg__old(r, id);
    rows found;
    if (node->op == EG__GRAPH_matmul && !node->attributes.matmul.a_transposed &&
        find_right(r, eg__old_input(r, id, 1), node->attributes.matmul.b_transposed, &found) &&
        is_input(r, &found))
        return eg__infile_matmul(r->to, r->map[eg__old_input(r, id, 0)], r->map[found.leaf],
                                 found.first, found.count);
    if (node->op == EG__GRAPH_gather && !node->attributes.gather.columns &&
        find_rows(r, eg__old_input(r, id, 0), &found) && eg__old(r, found.leaf)->rank > 1 &&
        (is_input(r, &found) || eg__node_elements(eg__old(r, found.leaf)) >= LARGE))
        return eg__infile_gather(r->to, r->map[found.leaf], r->map[eg__old_input(r, id, 1)],
                                 found.first, found.count);
    return (eg_node){0};
}

eg_status eg__pass_rows(const eg_graph *graph, size_t count, eg_node *outputs, bool training,
                        eg_graph **to, eg_error *error) {
    static const eg__rewriter rewriter = {.rule = rule};
    return eg__graph_rewrite(graph, count, outputs, training, &rewriter, to, error);
}
