/* Cache nodes: their layout, and which nodes refer to a cache.
 *
 * A cache (of `heads` heads of `d` columns each, in numbers of `bits` bits) is a leaf. append gives
 * its new value, in the same memory; update makes that the state's value. All of them have the
 * logical type f32 and shape [slots, heads d]; only append and attention_cached know the stored
 * layout. */
#ifndef EG__GRAPH_KV_H
#define EG__GRAPH_KV_H

#include "graph/graph.h"
#include "kernels/attention/attention_cached.h"

/* The cache that a node refers to, 0 = none. */
uint32_t eg__kv_of(const eg_graph *graph, uint32_t id);
/* Layout of a cache node; false = invalid attributes. */
bool eg__kv_layout(const eg__node *cache, eg__kv_rows *out);
/* Whether input `i` of such an operation may be a cache. */
bool eg__kv_is_taken(eg__op_id op, size_t i);

#endif
