/* Cache nodes: how they lie, and which nodes stand for a cache.
 *
 * A cache (of `heads` heads of `d` columns each, in numbers of `bits` bits) is a leaf. append gives what it becomes, in
 * the same memory; update says that it does. All of them have the type f32 and the shape [slots,
 * heads d], which is what the numbers mean; only append and attention_cached know how they lie. */
#ifndef EG__GRAPH_KV_H
#define EG__GRAPH_KV_H

#include "graph/graph.h"
#include "kernels/attention/attention_cached.h"

/* The cache that a node stands for, 0 = it is none. */
uint32_t eg__kv_of(const eg_graph *graph, uint32_t id);
/* False = attributes that no cache has. */
bool eg__kv_layout(const eg__node *cache, eg__kv_rows *out);
/* Whether input `i` of such an operation may be a cache. */
bool eg__kv_is_taken(eg__op_id op, size_t i);

#endif
