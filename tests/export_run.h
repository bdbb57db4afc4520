/* Programs exported as C, compiled by a C compiler, run beside the library. */
#ifndef EG__EXPORT_RUN_H
#define EG__EXPORT_RUN_H

#include "elegans/elegans.h"

#include <stdbool.h>
#include <stdio.h>

enum { EXPORT_PATH = 512 };

typedef struct exporter {
    char folder[EXPORT_PATH], files[1 << 14]; /* NAME.c of all programs */
    char calls[1 << 14];                      /* of what the generated main does with them */
    FILE *main, *in, *want;                   /* the main, inputs, expected outputs */
    double tolerance;
    int runs; /* steps of each program: 4; the last one is after a reset */
    bool odd; /* inputs that are hard to round: ties, a NaN, an infinity, tiny ones */
    size_t programs;
    uint64_t code_lines;
} exporter;

/* The compiler is $ELEGANS_EXPORT_CC ("cc"), what it makes runs by $ELEGANS_EXPORT_RUN (""), files go to
 * a folder of this test or to $ELEGANS_EXPORT_FOLDER. False, and the test skipped, without a compiler. */
bool exporter_begin(exporter *e, double tolerance);
/* Compiles the graph, gives it random weights between low and high, exports it, and runs the library. */
void exporter_add(exporter *e, eg_context *context, const eg_graph *g, size_t count,
                  const eg_output *outputs, const char *name, double low, double high);
/* The same for a program with its weights. Gives what was told of it. */
eg_export_info exporter_add_program(exporter *e, eg_program *program, eg_weights *weights,
                                    const char *name, double low, double high);
/* Compiles all that was added into one program, runs it, compares. */
void exporter_end(exporter *e);

#endif
