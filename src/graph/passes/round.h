/* Products of rounded values: what a chip computes that multiplies halves and adds floats. */
#ifndef EG__ROUND_H
#define EG__ROUND_H

#include "graph/steps/program.h"

/* Puts a rounding to options->products (EG_F16 or EG_BF16) before both sides of every matmul; EG_F32 leaves
 * the graph as it is. *graph is replaced, the outputs follow. Unlike a pass it changes what is computed; it
 * comes after them, because they move and join products, and rounds each side once. */
eg_status eg__round_products(eg_graph **graph, size_t count, eg_node *outputs,
                             const eg__compile_options *options, eg_error *error);

#endif
