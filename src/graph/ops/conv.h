/* Convolution nodes: their sizes; the gradient by the filters has the attributes of conv. */
#ifndef EG__GRAPH_CONV_H
#define EG__GRAPH_CONV_H

#include "graph/graph.h"
#include "kernels/conv/conv.h"

/* Of a conv or conv_dw node: checks everything. */
eg_status eg__conv_shape_of(const eg_graph *graph, const eg__node *node, eg__conv_shape *out,
                            eg_error *error);
/* Whether numbers are within what a convolution can have. */
bool eg__conv_fits(const eg__conv_attributes *numbers);
/* The attributes that files of version 1 have packed. */
void eg__conv_from_index(const int64_t index[EG_RANK_MAX], eg__attributes *out);

#endif
