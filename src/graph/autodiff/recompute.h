/* Forward values that the backward pass computes again instead of keeping them. */
#ifndef EG__RECOMPUTE_H
#define EG__RECOMPUTE_H

#include "graph/graph.h"

typedef struct eg__recompute {
    eg_graph *graph;
    uint32_t limit;      /* forward nodes */
    unsigned char *fate; /* per forward node; NULL = everything is kept */
    eg_node *value;      /* what stands for it in the backward pass; {0} until it is asked for */
    uint32_t *path;      /* nodes whose inputs are being made */
} eg__recompute;

/* `order` holds the nodes that the loss needs, each after what it needs. Without nodes to keep, nothing is
 * computed again. */
eg_status eg__recompute_open(eg__recompute *r, eg_graph *graph, const eg_gradient_options *options,
                             const uint32_t *order, size_t size, eg_error *error);
void eg__recompute_close(eg__recompute *r);
/* The value of a node outside of scans for the backward pass; what has to be computed again for it waits
 * for `after`. */
eg_node eg__recompute_value(eg__recompute *r, eg_node node, eg_node after);

#endif
