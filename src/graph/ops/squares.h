/* How a sum of squares is split into blocks, and the layout of its result. */
#ifndef EG__GRAPH_SQUARES_H
#define EG__GRAPH_SQUARES_H

#include "graph/graph.h"

/* The most blocks, and the fewest elements per block: a few microseconds of work. */
enum { EG__SQUARES_BLOCKS = 64, EG__SQUARES_BLOCK = 4096, EG__SQUARES_PARTS = 4 };
static inline size_t eg__squares_each(size_t n) {
    return eg__max(EG__SQUARES_BLOCK, eg__ceil_div(n, EG__SQUARES_BLOCKS));
}
static inline size_t eg__squares_blocks(size_t n) { return eg__ceil_div(n, eg__squares_each(n)); }

/* The four floats that eg_sum_squares_value takes. */
void eg__squares_split(double sum, float y[EG__SQUARES_PARTS]);

#endif
