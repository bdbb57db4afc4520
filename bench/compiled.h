/* Graphs as contestants: built, compiled and run through the public interface, on one thread. */
#ifndef BENCH_COMPILED_H
#define BENCH_COMPILED_H

#include "bench.h"
#include "elegans/elegans.h"

enum { COMPILED_PARAMETERS = 16 };

/* Everything that belongs to one program; each call ends the benchmark where something fails. */
typedef struct compiled {
    eg_context *context;
    eg_graph *graph;
    eg_program *program;
    eg_weights *weights;
    eg_instance *instance;
    eg_node parameters[COMPILED_PARAMETERS]; /* of the linear layers */
    size_t parameter_count;
} compiled;

/* A context and an empty graph, to be ended with compiled_end. */
compiled *compiled_start(bench *b);
/* x*w + b with the parameters "<name>.w" and "<name>.b". */
eg_node compiled_linear(compiled *c, const char *name, eg_node x, uint64_t from, uint64_t to);
/* Compiles what was built and fills the parameters; the same parameters get the same numbers. */
void compiled_finish(compiled *c, size_t count, const eg_output *outputs);
/* An input or an output. */
void compiled_bind(compiled *c, const char *name, float *data);
/* Gives each output memory of the instance's. */
void compiled_own_outputs(compiled *c);
/* Gives each input numbers that mean nothing, and each output memory of the instance's. */
void compiled_bind_inputs(bench *b, compiled *c);
/* A model by its spec; its inputs are still to be bound. */
compiled *compiled_model(bench *b, const char *spec, uint64_t batch, uint64_t steps);
const float *compiled_parameter(const compiled *c, const char *name);

/* ---- as a contestant: `state` is the compiled */
void run_compiled(void *state);
void compiled_end(void *state);
void compiled_race(race *r, role as, const char *name, compiled *c);

#endif
