/* The passes of a compilation: which there are, and which are on. */
#ifndef EG__PASSES_H
#define EG__PASSES_H

#include "graph/steps/program.h"

typedef enum eg__pass_id {
#define PASS(name, text)     EG__PASS_##name,
#define LOWERING(name, text) EG__PASS_##name,
#include "graph/passes/passes.def"
    EG__PASS_COUNT
} eg__pass_id;
enum { EG__PASSES_ALL = (1 << EG__PASS_COUNT) - 1 };

const char *eg__pass_name(unsigned pass); /* static */
const char *eg__pass_text(unsigned pass);
/* Parses a list of passes: "all", "none", names, and names to leave out after a minus: "all,-fuse",
 * "fold,cse". NULL and "" mean all. */
eg_status eg__passes_parse(const char *text, uint32_t *out, eg_error *error);

static inline bool eg__pass_is_on(const eg__compile_options *options, eg__pass_id pass) {
    return options->passes >> pass & 1;
}

/* Runs the graph-to-graph passes in order: replaces *graph and the outputs. */
eg_status eg__passes_run(eg_graph **graph, size_t count, eg_node *outputs,
                         const eg__compile_options *options, eg_error *error);

#define PASS(name, text)                                                             \
    eg_status eg__pass_##name(const eg_graph *graph, size_t count, eg_node *outputs, \
                              bool training, eg_graph **to, eg_error *error);
#include "graph/passes/passes.def"

#endif
