/* Mixed precision: products whose sides are rounded to f16 or bf16 and accumulated in f32, as
 * matrix units compute them. */
#ifndef EG__ROUND_H
#define EG__ROUND_H

#include "graph/steps/program.h"

/* Puts a rounding to options->products (EG_F16 or EG_BF16) before both sides of every matmul;
 * EG_F32 leaves the graph as it is. Where `kernels` (may be NULL) multiply halves, the products do the rounding: no rounded
 * values are in memory. Replaces *graph and the outputs. Unlike a pass it changes the
 * results; it runs after the passes, because they move and merge products, and rounds each side
 * once. */
eg_status eg__round_products(eg_graph **graph, size_t count, eg_node *outputs,
                             const eg__compile_options *options, const eg__kernels *kernels,
                             eg_error *error);

#endif
