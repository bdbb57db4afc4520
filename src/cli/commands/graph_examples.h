/* Small networks to look at. */
#ifndef EG__GRAPH_EXAMPLES_H
#define EG__GRAPH_EXAMPLES_H

#include "elegans/graph.h"

typedef struct graph_example {
    const char *name, *text;
    /* Builds into the graph; returns the loss and puts what it is trained by into parameters. */
    eg_node (*build)(eg_graph *graph, eg_node *parameters, size_t *count);
} graph_example;
enum { EXAMPLE_PARAMETERS = 32 };
extern const graph_example graph_examples[]; /* ends with a row of NULLs */

#endif
