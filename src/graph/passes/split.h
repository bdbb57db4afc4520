/* A graph in two: what needs the inputs that come late, and all else. */
#ifndef EG__SPLIT_H
#define EG__SPLIT_H

#include "graph/steps/program.h"

enum { EG__KEPT_NAME = 24 };
typedef struct eg__split {
    /* [0] has the outputs that do not need a late input, then "kept.0", "kept.1" ..: inputs of [1], which has the other
     * outputs. Both have all parameters. */
    struct eg__split_side {
        eg_graph *graph;
        size_t count;
        eg__output *outputs;
    } sides[2];
    char (*names)[EG__KEPT_NAME]; /* of what is kept */
} eg__split;

/* `graph` is only read. Close it after a failure, too. */
eg_status eg__split_open(eg__split *split, const eg_graph *graph, size_t late_count,
                         const eg_node *late, size_t count, const eg__output *outputs,
                         bool training, eg_error *error);
void eg__split_close(eg__split *split, eg__memory *memory);

#endif
