/* A graph, compiled and run, beside its evaluation in double. */
#ifndef EG__TEST_COMPILE_H
#define EG__TEST_COMPILE_H

#include "elegans/elegans.h"

typedef struct compiled_case {
    const char *name, *passes;
    int training;
    double low, high; /* of the values of leaves */
} compiled_case;

/* Leaves get random values, the outputs must be those of the definition. */
void compiled_check(eg_context *context, eg_graph *graph, size_t count, const eg_output *outputs,
                    const compiled_case *c);

#endif
