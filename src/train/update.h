/* The update of a training, as programs on the buffers of all parameters: accumulate gradients,
 * compute their norm, run the optimizer. */
#ifndef EG__UPDATE_H
#define EG__UPDATE_H

#include "train/optimizer.h"

/* A piece: consecutive parameters in the buffer with the same constraints. */
typedef struct eg__update_piece {
    size_t first, count; /* floats */
    float least;
} eg__update_piece;

typedef struct eg__update {
    eg_program *programs[EG_TRAIN_PARTS]; /* the trainer owns that of the gradient */
    eg_instance *instances[EG_TRAIN_PARTS];
    eg_optimizer optimizer;
    size_t count; /* floats of each buffer */
    eg__update_piece *pieces;
    size_t piece_count;
    eg__memory *memory;
    float *gradient; /* the gradient that norm and step read */
    float scalars[EG__OPTIMIZER_SCALARS], adds, squares[4];
} eg__update;

/* Buffers of `count` floats, in the order of the weights. */
typedef struct eg__update_buffers {
    float *parameters, *gradients, *first, *second;
} eg__update_buffers;

/* Compiles the programs for the pieces (which cover all `count` floats and are copied).
 * eg__update_release frees everything, after a failure, too. */
eg_status eg__update_compile(eg__update *u, eg_context *context, const eg_optimizer *optimizer,
                             size_t count, size_t piece_count, const eg__update_piece *pieces,
                             eg_error *error);
eg_status eg__update_bind(eg__update *u, const eg__update_buffers *buffers, eg_error *error);
void eg__update_release(eg__update *u); /* all zero is fine */

/* Before the first eg__update_sum: where that goes. */
eg_status eg__update_sum_in(eg__update *u, float *sum, eg_error *error);
/* sum <- gradients or, with `adds`, sum + gradients */
eg_status eg__update_sum(eg__update *u, bool adds, eg_error *error);
/* Sets the gradient that norm and step read from now on: gradients or sum. */
eg_status eg__update_use(eg__update *u, float *gradient, eg_error *error);
/* The L2 norm of the gradient; finite if all elements are. */
eg_status eg__update_norm(eg__update *u, double *out, eg_error *error);
/* Runs the optimizer for step `step`, which counts from 1. */
eg_status eg__update_step(eg__update *u, uint64_t step, double learning_rate, double scale,
                          eg_error *error);

#endif
