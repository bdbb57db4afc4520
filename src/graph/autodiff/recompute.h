/* Forward values that the backward pass recomputes instead of keeping them. */
#ifndef EG__RECOMPUTE_H
#define EG__RECOMPUTE_H

#include "graph/graph.h"

typedef struct eg__recompute {
    eg_graph *graph;
    uint32_t limit;      /* forward nodes */
    unsigned char *fate; /* per forward node; NULL = everything is kept */
    eg_node *value;      /* its replacement in the backward pass; {0} until it is needed */
    uint32_t *path;      /* stack of nodes whose inputs are being replaced */
} eg__recompute;

/* `order` holds the nodes that the loss needs, in topological order. Without checkpoints (nodes to
 * keep) nothing is recomputed. */
eg_status eg__recompute_open(eg__recompute *r, eg_graph *graph, const eg_gradient_options *options,
                             const uint32_t *order, size_t size, eg_error *error);
void eg__recompute_close(eg__recompute *r);
/* The value of a node outside of scans for the backward pass; recomputed nodes are scheduled after
 * `after`. */
eg_node eg__recompute_value(eg__recompute *r, eg_node node, eg_node after);

#endif
