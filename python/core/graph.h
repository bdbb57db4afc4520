/* Graphs and nodes, as the files of the extension that build them see them. */
#ifndef CORE_GRAPH_H
#define CORE_GRAPH_H

#include "core.h"

typedef struct core_graph {
    PyObject_HEAD core_context *context;
    eg_graph *graph;
    size_t readers; /* threads that compile it, without the GIL */
} core_graph;

typedef struct core_node {
    PyObject_HEAD core_graph *graph; /* held */
    eg_node node;
} core_node;

extern PyMethodDef core_graph_operations[];

core_graph *core_graph_of(PyObject *object, const char *name); /* NULL with an exception */
/* 0 with an exception: another thread compiles it, or its context was left behind by a fork. */
int core_graph_open(core_graph *graph);

int core_is_node(PyObject *object);
/* A new reference; the graph's mistake as an exception when there is no node, which the graph then forgets. */
PyObject *core_node_new(core_graph *graph, eg_node node);
/* None, or the same exception: for calls that give no node. */
PyObject *core_graph_none(core_graph *graph);
/* A node of this graph; a number or an array becomes a constant of it. */
int core_node_take(core_graph *graph, PyObject *object, const char *name, eg_node *out);
int core_node_only(core_graph *graph, PyObject *object, const char *name,
                   eg_node *out); /* no constants */
int core_node_info(const core_graph *graph, eg_node node, eg_node_info *out);
/* The memory is the caller's to free(). */
int core_nodes_take(core_graph *graph, PyObject *sequence, const char *name, eg_node **out,
                    size_t *count);
eg_node core_constant(core_graph *graph, PyObject *value, PyObject *dtype, int *failed);

/* An extent or a sequence of them. `elements` is what a -1 is found from, 0 = there may be none. */
int core_extents(PyObject *object, const char *name, uint64_t elements, unsigned *rank,
                 uint64_t shape[EG_RANK_MAX]);
int core_axis(PyObject *object, const char *name, unsigned rank, unsigned *out);
PyObject *core_shape_tuple(unsigned rank, const uint64_t *shape);

#endif
