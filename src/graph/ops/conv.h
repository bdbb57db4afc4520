/* Convolution nodes: their sizes. The gradient with respect to the filters has the attributes of
 * conv. */
#ifndef EG__GRAPH_CONV_H
#define EG__GRAPH_CONV_H

#include "graph/graph.h"
#include "kernels/conv/conv.h"

/* Finds and checks the sizes of a conv or conv_dw node. */
eg_status eg__conv_shape_of(const eg_graph *graph, const eg__node *node, eg__conv_shape *out,
                            eg_error *error);
/* Whether the attributes are in range. */
bool eg__conv_fits(const eg__conv_attributes *numbers);
/* Unpacks the attributes of version 1 files. */
void eg__conv_from_index(const int64_t index[EG_RANK_MAX], eg__attributes *out);

#endif
