/* The order in which the nodes outside of scans are computed. */
#ifndef EG__ORDER_H
#define EG__ORDER_H

#include "graph/graph.h"

/* Ids of the nodes outside of scans that `roots` need, each after what it needs. A scan stands for
 * its whole body. The caller gives `order` back. A value that needs itself is a mistake, and so is a
 * carry without an update. */
eg_status eg__graph_order(const eg_graph *graph, size_t count, const eg_node *roots,
                          uint32_t **order, size_t *size, eg_error *error);

#endif
