/* Graph rewriting: a new graph from an old one, node by node, with a rule that may replace a node.
 * Nodes that nothing needs are left out. */
#ifndef EG__REWRITE_H
#define EG__REWRITE_H

#include "graph/graph.h"

typedef struct eg__rewrite eg__rewrite;
/* A rule: returns the replacement of old node `id` in the new graph; {0} = copy it. All inputs of
 * id have been mapped already, and nodes that depend on parameters alone are mapped before all
 * others. */
typedef eg_node (*eg__rule)(eg__rewrite *rewrite, uint32_t id);
typedef struct eg__rewriter {
    eg__rule rule; /* NULL = copies */
    /* before the first node; false = failed, the new graph has the mistake */
    bool (*begin)(eg__rewrite *);
    void (*end)(eg__rewrite *); /* after the last node; called even if begin failed */
    size_t size;                /* bytes for the rewriter's own use, zeroed: rewrite->user */
    /* Restrict the rewrite to a part of the graph: whether the replacement of node `id` needs that
     * input, and whether an update of a state is needed; NULL = yes. */
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
    unsigned char *settled;   /* per old node: depends on parameters and constants alone */
    size_t output_count;
    const eg_node *outputs; /* old */
    const eg__rewriter *rewriter;
    bool training;
    void *user;
};

/* Makes the new graph and maps the outputs. Updates of states count as needed unless the rewriter
 * says otherwise. */
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
/* Whether the only user of a value is an addition of the same shape in the same region: then it is
 * a term of that sum. */
bool eg__rewrite_in_sum(const eg__rewrite *r, uint32_t id);
/* A copy of an old node in the new graph, its inputs as they are mapped. */
eg_node eg__rewrite_copy(eg__rewrite *r, uint32_t id);

#endif
