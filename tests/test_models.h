/* Small networks for tests of compiled programs. */
#ifndef EG__TEST_MODELS_H
#define EG__TEST_MODELS_H

#include "elegans/elegans.h"

#include <stdbool.h>

typedef struct model_case {
    const char *name; /* "mlp", "gru" or "cfc" */
    uint64_t time, batch, inputs, units;
    bool reverse, lengths; /* of the scan; an input "lengths" [batch] */
    bool gradient;         /* outputs d0, d1, ... of every parameter */
    eg_gradient_options options;
    bool dropout;
} model_case;

enum { MODEL_OUTPUTS = 32 };
/* Outputs: "y" (all steps), "last", "loss", gradients. */
size_t model_build(eg_graph *g, const model_case *c, eg_output outputs[MODEL_OUTPUTS]);

/* A program with weights and an instance, inputs bound to random numbers that depend on the names
 * alone; fails the test when something goes wrong. */
typedef struct model_run {
    eg_context *context;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_tensor inputs[8];
    size_t input_count;
} model_run;
model_run model_open(const model_case *c, unsigned threads, const char *passes);
/* The same of any graph; the run owns the context from now on. */
model_run model_start(eg_context *context, const eg_graph *g, size_t count,
                      const eg_output *outputs, const eg_compile_options *compile);
void model_close(model_run *m);
void model_weights_fill(eg_weights *weights, const eg_program *program);
eg_tensor model_output(model_run *m, const char *name);
eg_tensor model_input(model_run *m, const char *name);
/* The largest difference between two tensors of the same size. */
double tensor_distance(const eg_tensor *a, const eg_tensor *b);
double tensor_size(const eg_tensor *a); /* the largest magnitude */

#endif
