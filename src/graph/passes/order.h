/* The order in which the nodes outside of scans are computed. */
#ifndef EG__ORDER_H
#define EG__ORDER_H

#include "graph/graph.h"

/* Ids of the nodes outside of scans that `roots` depend on, in topological order. A scan stands for
 * its whole body. The caller frees `order`. Cycles and carries without an update are mistakes. */
eg_status eg__graph_order(const eg_graph *graph, size_t count, const eg_node *roots,
                          uint32_t **order, size_t *size, eg_error *error);

#endif
