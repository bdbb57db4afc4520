/* Small graphs that use every operation: for gradients, for compiled programs. */
#ifndef EG__GRAPH_RULES_H
#define EG__GRAPH_RULES_H

#include "graph/graph.h"

enum { RULE_LEAVES = 4 };

/* A function of up to four leaves, as a graph; its sum of weighted outputs is the loss. */
typedef eg_node (*build_function)(eg_graph *g, const eg_node *x);
typedef struct graph_rule {
    const char *name;
    build_function build;
    unsigned leaves;
    struct {
        unsigned rank;
        uint64_t shape[EG_RANK_MAX];
    } leaf[RULE_LEAVES];
    double low, high; /* of the values */
} graph_rule;

extern const graph_rule graph_rules[];
extern const size_t graph_rule_count;

/* sum(y * weights): every output counts, each differently. */
eg_node weighted_loss(eg_graph *g, eg_node y);

#endif
