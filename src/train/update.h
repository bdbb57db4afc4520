/* What a training does with a gradient, as programs on the buffers of all parameters: gradients are added, their norm is
 * taken, the optimizer makes a step. */
#ifndef EG__UPDATE_H
#define EG__UPDATE_H

#include "train/optimizer.h"

/* Neighbours in the buffer of the parameters that the model demands the same of. */
typedef struct eg__update_piece {
    size_t first, count; /* floats */
    float least;
} eg__update_piece;

typedef struct eg__update {
    eg_program *programs[EG_TRAIN_PARTS]; /* that of the gradient is the trainer's */
    eg_instance *instances[EG_TRAIN_PARTS];
    eg_optimizer optimizer;
    size_t count; /* floats of each buffer */
    eg__update_piece *pieces;
    size_t piece_count;
    eg__memory *memory;
    float *gradient; /* what norm and step read */
    float scalars[EG__OPTIMIZER_SCALARS], adds, squares[4];
} eg__update;

/* Buffers of `count` floats, in the order of the weights. */
typedef struct eg__update_buffers {
    float *parameters, *gradients, *sum, *first, *second;
} eg__update_buffers;

/* The programs, for the pieces (which cover all `count` floats and are copied). Whatever is there is given back by
 * eg__update_release, after a failure, too. */
eg_status eg__update_compile(eg__update *u, eg_context *context, const eg_optimizer *optimizer,
                             size_t count, size_t piece_count, const eg__update_piece *pieces,
                             eg_error *error);
eg_status eg__update_bind(eg__update *u, const eg__update_buffers *buffers, eg_error *error);
void eg__update_release(eg__update *u); /* all zero is fine */

/* sum <- gradients or, with `adds`, sum + gradients */
eg_status eg__update_sum(eg__update *u, bool adds, eg_error *error);
/* From now on `gradient` is what the norm is taken of and what the step is made with: gradients or sum. */
eg_status eg__update_use(eg__update *u, float *gradient, eg_error *error);
/* The square root of the sum of all squares; finite when all of them are. */
eg_status eg__update_norm(eg__update *u, double *out, eg_error *error);
/* Step `step`, which counts from 1. */
eg_status eg__update_step(eg__update *u, uint64_t step, double learning_rate, double scale,
                          eg_error *error);

#endif
