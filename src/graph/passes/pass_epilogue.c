/* An elementwise unit that is the only user of a product runs as its epilogue: on each tile of the
 * product while the tile is in the cache. */
#include "graph/lower/lower.h"

static uint32_t only_user(const eg__lowering *l, uint32_t id) {
    uint32_t unit = 0;
    for (size_t i = 0; i < l->output_count; i++)
        if (l->outputs[i].id == id) return 0;
    if (l->becomes[id]) return 0;
    for (uint32_t k = l->user_first[id]; k < l->user_first[id + 1]; k++) {
        const uint32_t user = l->users[k];
        if (eg__is_view(l, user) || l->region[user] != l->region[id] || !l->unit[user]) return 0;
        if (unit && unit != l->unit[user]) return 0;
        unit = l->unit[user];
    }
    return unit;
}

/* One product whose rows share one right side. */
static bool is_plain(const eg__lowering *l, uint32_t id) {
    if (eg__lower_node(l, id)->op == EG__GRAPH_quantized_matmul ||
        eg__lower_node(l, id)->op == EG__GRAPH_infile_matmul)
        return true;
    if (eg__lower_node(l, id)->op != EG__GRAPH_matmul) return false;
    const eg__node *a = eg__lower_node(l, eg__lower_input(l, id, 0));
    const eg__node *b = eg__lower_node(l, eg__lower_input(l, id, 1));
    return b->rank == 2 && (a->rank == 2 || !eg__lower_node(l, id)->attributes.matmul.a_transposed);
}

void eg__lower_epilogues(eg__lowering *l) {
    for (uint32_t id = 1; id <= l->graph->size; id++) {
        if (!l->reachable[id] || !is_plain(l, id)) continue;
        const uint32_t user = only_user(l, id);
        if (!user || !l->units[user].is_fused || l->units[user].host || eg__lower_part_of(l, id) ||
            eg__lower_part_of(l, l->units[user].first))
            continue;
        if (!eg__same_shape(eg__lower_node(l, l->units[user].first), eg__lower_node(l, id)))
            continue;
        if (eg__lower_last_use(l, id, l->region[id]) == EG__NEVER) continue;
        l->units[user].host = id;
        l->units[l->unit[id]].guest = user;
        /* the product moves to the later position */
        l->units[l->unit[id]].position = l->units[user].position;
    }
}
