/* Attention nodes: what their inputs mean; nodes of the gradients have the attributes of attention. */
#ifndef EG__GRAPH_ATTENTION_H
#define EG__GRAPH_ATTENTION_H

#include "graph/graph.h"
#include "kernels/attention/attention.h"

enum { EG__ATTENTION_Q, EG__ATTENTION_K, EG__ATTENTION_V };

typedef struct eg__attention_shape {
    uint64_t samples;
    eg__attention_f32_args args; /* sizes, scale, visibility, strides of the mask; no pointers */
    int mask, lengths, y, d;     /* positions among the inputs; -1 = none */
} eg__attention_shape;

/* Checks everything. */
eg_status eg__attention_shape_of(const eg_graph *graph, const eg__node *node,
                                 eg__attention_shape *out, eg_error *error);
/* The number of visible pairs (query, key) over all heads. Lengths are unknown at compile time, so
 * all positions count. */
double eg__attention_pairs(const eg__attention_shape *shape);
void eg__attention_draw(const eg_graph *graph, const eg__node *node, const double *const *in,
                        double *out, const eg__chance *chance);

#endif
