/* Graph to graph: a new graph made of an old one, node by node, with a rule that may put something
 * else in the place of a node. What nobody needs is left out. */
#ifndef EG__REWRITE_H
#define EG__REWRITE_H

#include "graph/graph.h"

typedef struct eg__rewrite eg__rewrite;
/* What stands for node `id` of the old graph, in the new one; {0} = a copy of it. Everything that id
 * needs has been mapped, and all that is settled before anything else. */
typedef eg_node (*eg__rule)(eg__rewrite *rewrite, uint32_t id);
typedef struct eg__rewriter {
    eg__rule rule;                /* NULL = copies */
    bool (*begin)(eg__rewrite *); /* before the first node; false = a mistake of the new graph */
    void (*end)(eg__rewrite *);   /* after the last, even when it did not begin */
    size_t size;                  /* bytes for the rewriter's own use, zeroed: rewrite->user */
    /* A part of the graph: whether what the rule puts in the place of node `id` needs that input of it, and whether that
     * update of a state is needed; NULL = all are. */
    bool (*needs)(const eg__rewrite *rewrite, uint32_t id, unsigned input);
    bool (*updates)(const eg__rewrite *rewrite, uint32_t id);
    void *given; /* for all of these */
} eg__rewriter;

struct eg__rewrite {
    const eg_graph *from;
    eg_graph *to;
    eg_node *map;             /* per old node */
    unsigned char *reachable; /* old nodes that are needed */
    uint32_t *used_by;        /* of an old node: the last of its live users */
    uint32_t *uses;           /* of old nodes, by live ones; outputs and carries count */
    unsigned char *settled;   /* old nodes that depend on parameters and constants alone */
    size_t output_count;
    const eg_node *outputs; /* old */
    const eg__rewriter *rewriter;
    bool training;
    void *user;
};

/* The new graph, and the outputs in it. Updates of states are needed unless the rewriter says otherwise. */
eg_status eg__graph_rewrite(const eg_graph *from, size_t count, eg_node *outputs, bool training,
                            const eg__rewriter *rewriter, eg_graph **to, eg_error *error);

static inline const eg__node *eg__old(const eg__rewrite *r, uint32_t id) {
    return &r->from->nodes[id];
}
static inline uint32_t eg__old_input(const eg__rewrite *r, uint32_t id, unsigned i) {
    return r->from->inputs[r->from->nodes[id].first_input + i].id;
}
static inline bool eg__is_add(const eg__node *node) {
    return node->op == EG__GRAPH_binary && node->kind == EG__BINARY_add;
}
/* A value that only a sum of the same shape, in the same place, needs is part of that sum. */
bool eg__rewrite_in_sum(const eg__rewrite *r, uint32_t id);
/* A copy of an old node in the new graph, its inputs as they are mapped. */
eg_node eg__rewrite_copy(eg__rewrite *r, uint32_t id);

#endif
