/* Mixed memory: an LSTM that runs before the cell, on the same input and the cell's state. */
#include "nn/model.h"

void eg__memory_step(eg__builder *b, eg_node x, eg_node *h, eg_node *c) {
    eg_graph *g = b->graph;
    const uint32_t n = b->layer->units;
    eg_node recurrent = eg__builder_parameter(b, "lstm.recurrent_map.weight");
    eg_node z = eg_add(g, eg__builder_linear(b, x, "lstm.input_map"),
                       eg_matmul_transposed(g, *h, 0, recurrent, 1));
    eg_node input = eg_tanh(g, eg_slice(g, z, 1, 0, n));
    eg_node take = eg_sigmoid(g, eg_slice(g, z, 1, n, n));
    eg_node keep = eg_sigmoid(g, eg_add(g, eg_slice(g, z, 1, 2 * n, n), eg_scalar(g, 1)));
    eg_node show = eg_sigmoid(g, eg_slice(g, z, 1, 3 * n, n));
    *c = eg_add(g, eg_mul(g, *c, keep), eg_mul(g, input, take));
    *h = eg_mul(g, eg_tanh(g, *c), show);
}
