/* Optimizers: one pass over parameters, gradients and moments. */
#ifndef EG__OPTIMIZER_H
#define EG__OPTIMIZER_H

#include "base/threads.h"
#include "elegans/train.h"
#include "kernels/kernels.h"

/* Fills what was left zero; EG_ERR_ARGUMENT names what cannot be. */
eg_status eg__optimizer_complete(eg_optimizer *optimizer, eg_error *error);

/* A step on n numbers. `first` and `second` are the moments (zero before step 1), `step` counts from 1,
 * `scale` is what gradients are multiplied with. */
typedef struct eg__optimizer_args {
    size_t n;
    float *parameters, *gradients, *first, *second;
    uint64_t step;
    double learning_rate, scale;
} eg__optimizer_args;
/* On any `threads` (NULL = this one) the same bits. */
void eg__optimizer_run(const eg_optimizer *optimizer, const eg__kernels *kernels,
                       eg__threads *threads, const eg__optimizer_args *args);
/* The square root of the sum of all squares, which are added in an order that n alone decides. */
double eg__norm(eg__threads *threads, const float *values, size_t n);

#endif
