/* Programs, weights and instances, as the engine's own files see them. */
#ifndef EG__ENGINE_PROGRAM_H
#define EG__ENGINE_PROGRAM_H

#include "elegans/program.h"
#include "engine/context.h"
#include "graph/program.h"

void eg__program_keep(eg_program *program);
const eg__leaf *eg__leaf_find(const eg__leaves *leaves, const char *name, size_t *index);
eg_tensor eg__leaf_tensor(const eg__leaf *leaf, void *data);
/* Type and shape are those of the leaf; with `shorter`, the first extent may be smaller. */
eg_status eg__leaf_check(const eg__leaf *leaf, const eg_tensor *tensor, bool shorter,
                         eg_error *error);

/* What a program's prologue made of the parameters. */
typedef struct eg__derived {
    eg_program *program;
    float *data, *scratch;
    struct eg__derived *next;
} eg__derived;

struct eg_weights {
    eg_context *context;
    eg_program *program; /* whose parameters they are */
    float *data;
    int64_t users; /* runs going on, or negative: somebody changes them; atomic */
    eg__derived *derived;
    bool listing; /* somebody reads or changes the list of derived values; atomic */
};

/* Finds or makes the derived values of `program`. Any thread. */
eg_status eg__weights_attach(eg_weights *weights, eg_program *program, const eg__derived **out,
                             eg_error *error);

/* eg_weights_set_small between eg_weights_begin and eg_weights_end. */
eg_status eg__weights_fill_small(eg_weights *weights, const char *name,
                                 const eg_quantized *quantized, eg_error *error);

const eg_program *eg__instance_program(const eg_instance *instance);
/* From now on its runs are recorded; NULL = no more. The record has a ring for each thread. */
void eg__instance_record(eg_instance *instance, eg__record *record);

#endif
