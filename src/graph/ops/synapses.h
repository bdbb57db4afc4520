/* Lists of synapses as one constant, and the elements of matrices that belong to them. */
#ifndef EG__OP_SYNAPSES_H
#define EG__OP_SYNAPSES_H

#include "graph/graph.h"
#include "kernels/liquid/synapses.h"

/* eg_synapses without its lists: `ends` is an i32 constant [count] of eg__synapse_ends. */
eg_node eg__synapses(eg_graph *graph, const eg_synapse_nodes *nodes, eg_node ends,
                     uint64_t targets);

/* x [sources, columns] where the synapses are: [count]. Padding gives zeros. A list of places in the matrix beside that of
 * the ends would be as long again. */
eg_node eg__gather_ends(eg_graph *graph, eg_node x, eg_node ends, uint64_t columns);

/* Where index `at` leads: the row that it says, or of a matrix with `columns` the element at both ends. Below 0 = nowhere. */
static inline int32_t eg__gather_row(int32_t at, size_t columns) {
    if (!columns || at < 0) return at;
    return (int32_t)(eg__synapse_source(at) * columns) + eg__synapse_target(at);
}

#endif
