/* Convolution nodes: what their attributes mean. */
#ifndef EG__GRAPH_CONV_H
#define EG__GRAPH_CONV_H

#include "graph/graph.h"
#include "kernels/conv/conv.h"

/* Attributes: index[0] = 2*groups + flipped; per axis (height and width; a sequence has its length as the
 * width) index[1], [2] = stride, dilation and spread in 20 bits each, index[3], [4] = padding before and
 * after in 32 bits each, with a sign; index[5] = the taps of both axes in 32 bits each, for the gradient by
 * the filters. See eg__conv_shape for what they are. */
typedef struct eg__conv_numbers {
    int64_t groups, stride[2], dilation[2], spread[2], before[2], after[2], taps[2];
    bool flipped;
} eg__conv_numbers;

/* False when one of them is beyond its bits. */
bool eg__conv_pack(const eg__conv_numbers *numbers, eg__attributes *out);
void eg__conv_unpack(const eg__attributes *attributes, eg__conv_numbers *out);

/* Of a conv or conv_dw node: checks everything. */
eg_status eg__conv_shape_of(const eg_graph *graph, const eg__node *node, eg__conv_shape *out,
                            eg_error *error);

#endif
