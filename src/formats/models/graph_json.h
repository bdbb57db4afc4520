/* Graphs as JSON. */
#ifndef EG__GRAPH_JSON_H
#define EG__GRAPH_JSON_H

#include "graph/graph.h"

/* Text in memory of the graph (EG_TAG_FILE), which the caller gives back. */
eg_status eg__graph_to_json(const eg_graph *graph, char **text, size_t *length, eg_error *error);
eg_status eg__graph_from_json(eg__memory *memory, const char *text, size_t length, eg_graph **out,
                              eg_error *error);

#endif
