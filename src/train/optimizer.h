/* Optimizers as graphs: how a parameter and its moments follow from a gradient. */
#ifndef EG__OPTIMIZER_H
#define EG__OPTIMIZER_H

#include "elegans/train.h"
#include "graph/graph.h"

/* Fills in defaults; EG_ERR_ARGUMENT names an invalid option. */
eg_status eg__optimizer_complete(eg_optimizer *optimizer, eg_error *error);

/* ---- scalars of a step: inputs of rank 0, so that one program serves all steps */
typedef enum eg__optimizer_scalar {
    EG__OPTIMIZER_SCALE, /* factor of the gradients (clipping, loss scale) */
    EG__OPTIMIZER_DECAY,
    EG__OPTIMIZER_BETA1,
    EG__OPTIMIZER_REST1, /* 1 - beta1 */
    EG__OPTIMIZER_BETA2,
    EG__OPTIMIZER_REST2,
    EG__OPTIMIZER_RATE, /* negative learning rate, with bias correction */
    EG__OPTIMIZER_EPSILON,
    EG__OPTIMIZER_SHRINK, /* 1 - decoupled weight decay */
    EG__OPTIMIZER_SCALARS
} eg__optimizer_scalar;
const char *eg__optimizer_scalar_name(unsigned scalar); /* static; NULL past the last */
/* Of step `step`, which counts from 1. */
void eg__optimizer_scalars(const eg_optimizer *optimizer, uint64_t step, double learning_rate,
                           double scale, float out[EG__OPTIMIZER_SCALARS]);

/* ---- the graph */
typedef struct eg__optimizer_builder {
    const eg_optimizer *optimizer;
    eg_graph *graph;
    eg_node scalar[EG__OPTIMIZER_SCALARS]; /* made on first use */
} eg__optimizer_builder;
/* Inputs that are updated in place: a parameter and its moments, zero before step 1. */
typedef struct eg__optimizer_nodes {
    eg_node parameter, gradient, first, second; /* second {0}: see below */
} eg__optimizer_nodes;
bool eg__optimizer_has_second(const eg_optimizer *optimizer); /* moment */
/* Parameters stay at or above `least`; -INFINITY = wherever they go. */
void eg__optimizer_build(eg__optimizer_builder *builder, const eg__optimizer_nodes *nodes,
                         float least);

#endif
