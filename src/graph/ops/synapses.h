/* Lists of synapses as one constant, and the elements of matrices that belong to them. */
#ifndef EG__OP_SYNAPSES_H
#define EG__OP_SYNAPSES_H

#include "graph/graph.h"
#include "kernels/liquid/synapses.h"

/* eg_synapses without its lists: `ends` is an i32 constant [count] of eg__synapse_ends. */
eg_node eg__synapses(eg_graph *graph, const eg_synapse_nodes *nodes, eg_node ends,
                     uint64_t targets);

/* Gathers the elements of x [sources, columns] at the synapses: [count]. Padding gives zeros.
 * Indices are computed from the ends, because a list of them would double the constant. */
eg_node eg__gather_ends(eg_graph *graph, eg_node x, eg_node ends, uint64_t columns);

/* The row that index `at` refers to or, with `columns`, the matrix element at the two ends of the
 * synapse `at`; negative = none. */
static inline int32_t eg__gather_row(int32_t at, size_t columns) {
    if (!columns || at < 0) return at;
    return (int32_t)(eg__synapse_source(at) * columns) + eg__synapse_target(at);
}

#endif
