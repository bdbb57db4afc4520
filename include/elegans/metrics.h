/* Metrics: how good the outputs of a model are, gathered over any number of batches.
 * Stable. */
#ifndef ELEGANS_METRICS_H
#define ELEGANS_METRICS_H

#include "elegans/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is not known is NaN, never 0: nothing was counted, a class never occurred, or the loss is of
 * another kind. An output that is NaN itself makes all figures NaN that it would be part of. */

typedef struct eg_metrics eg_metrics; /* opaque; used by one thread */

/* `outputs` of the model per row. `classes`: for EG_LOSS_CLASSES as many as outputs, else 0; 0 is always
 * right. You own *out. */
EG_API eg_status eg_metrics_create(eg_context *context, eg_loss loss, uint64_t outputs,
                                   uint64_t classes, eg_metrics **out, eg_error *error);
EG_API void eg_metrics_destroy(eg_metrics *metrics); /* NULL is fine */
EG_API void eg_metrics_reset(eg_metrics *metrics);   /* as if nothing had been added */

/* `count` rows: outputs [count, outputs]; targets of the same shape, or [count] for classes; weights
 * [count], NULL = 1 each. Rows whose weight is not above 0 do not count, nor do targets that are NaN.
 * With `units`, outputs and targets are turned back (v * output_scale + output_mean) before they are
 * compared; classes and binary outputs have none. EG_ERR_FORMAT: a class that does not exist; nothing was
 * added then. */
EG_API eg_status eg_metrics_add(eg_metrics *metrics, const float *outputs, const float *targets,
                                const float *weights, uint64_t count, const eg_units *units,
                                eg_error *error);

typedef struct eg_metrics_result {
    uint64_t rows;  /* that counted */
    double counted; /* their weights */
    /* Numbers (mse, mae, huber), of all outputs together. r2 = 1 - sum of squared errors / sum of squared
     * deviations of the targets from the mean of their output, both over all outputs (the mean of those of
     * the outputs, weighted by variance); NaN when no target changes. */
    double mse, mae, rmse, r2;
    /* Classes; and binary outputs, each of which is right or wrong by itself and 1 above 0. Of two classes,
     * f1 is that of class 1; of several binary outputs it is their mean. macro_f1 is the mean over all
     * classes that occur, be it in targets or in outputs. */
    double accuracy, f1, macro_f1;
} eg_metrics_result;
EG_API void eg_metrics_get(const eg_metrics *metrics, eg_metrics_result *out);

/* The same of one output. Classes share theirs: for them there is 0 alone, which is all. */
EG_API eg_status eg_metrics_output(const eg_metrics *metrics, uint64_t output,
                                   eg_metrics_result *out, eg_error *error);

typedef struct eg_metrics_class {
    double support;   /* weight of the targets of this class */
    double precision; /* of what was called so, how much is; NaN when nothing was */
    double recall;    /* of what is, how much was called so; NaN when nothing is */
    double f1;        /* NaN when it is neither */
} eg_metrics_class;
/* `output` is 0 for classes; a binary output has classes 0 and 1. EG_ERR_ARGUMENT past the last. */
EG_API eg_status eg_metrics_class_get(const eg_metrics *metrics, uint64_t output, uint64_t index,
                                      eg_metrics_class *out, eg_error *error);
/* The weight of rows of class `truth` that were called `predicted`; NaN where there is no such class. */
EG_API double eg_metrics_confusion(const eg_metrics *metrics, uint64_t output, uint64_t truth,
                                   uint64_t predicted);

#ifdef __cplusplus
}
#endif
#endif
