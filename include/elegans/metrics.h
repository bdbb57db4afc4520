/* Metrics: how good the outputs of a model are, gathered over any number of batches.
 * Stable. */
#ifndef ELEGANS_METRICS_H
#define ELEGANS_METRICS_H

#include "elegans/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Undefined metrics are NaN, never 0: no rows, a class that never occurred, a metric of another kind of loss. A NaN
 * output makes every metric NaN that includes it. */

typedef struct eg_metrics eg_metrics; /* opaque; used by one thread */

/* `outputs`: of the model, per row. `classes`: 0, or for EG_LOSS_CLASSES the same as outputs. You own *out. */
EG_API eg_status eg_metrics_create(eg_context *context, eg_loss loss, uint64_t outputs,
                                   uint64_t classes, eg_metrics **out, eg_error *error);
EG_API void eg_metrics_destroy(eg_metrics *metrics); /* NULL is fine */
EG_API void eg_metrics_reset(eg_metrics *metrics);   /* back to no rows */

/* `count` rows: outputs [count, outputs]; targets of the same shape, or [count] for classes; weights
 * [count], NULL = 1 each. Rows whose weight is not above 0 and NaN targets are ignored.
 * With `units`, outputs and targets are converted to the units of the user (v * output_scale + output_mean) before they
 * are compared; not classes and binary outputs. EG_ERR_FORMAT: a class that does not exist; then nothing was
 * added. */
EG_API eg_status eg_metrics_add(eg_metrics *metrics, const float *outputs, const float *targets,
                                const float *weights, uint64_t count, const eg_scaling *units,
                                eg_error *error);

typedef struct eg_metrics_result {
    uint64_t rows;  /* rows with a weight above 0 */
    double counted; /* sum of their weights */
    /* Regression (mse, mae, huber), over all outputs. r2 = 1 - sum of squared errors / sum of squared
     * deviations of the targets from the mean of their output, both over all outputs (the variance-weighted mean of the
     * outputs' r2); NaN when all targets are constant. */
    double mse, mae, rmse, r2;
    /* Classification; each binary output is judged by itself, as class 1 above 0. With two classes, f1 is
     * that of class 1; with several binary outputs it is their mean. macro_f1 is the mean over all
     * classes that occur in targets or outputs. */
    double accuracy, f1, macro_f1;
} eg_metrics_result;
EG_API void eg_metrics_get(const eg_metrics *metrics, eg_metrics_result *out);

/* The same of one output. For classes there is only output 0: all of them. */
EG_API eg_status eg_metrics_output(const eg_metrics *metrics, uint64_t output,
                                   eg_metrics_result *out, eg_error *error);

typedef struct eg_metrics_class {
    double support;   /* weight of the targets of this class */
    double precision; /* NaN when it was never predicted */
    double recall;    /* NaN when it never occurs */
    double f1;        /* NaN when both are */
} eg_metrics_class;
/* `output` is 0 for classes; a binary output has classes 0 and 1. EG_ERR_ARGUMENT past the last. */
EG_API eg_status eg_metrics_class_get(const eg_metrics *metrics, uint64_t output, uint64_t index,
                                      eg_metrics_class *out, eg_error *error);
/* The weight of rows of class `truth` that were predicted as `predicted`; NaN where there is no such class. */
EG_API double eg_metrics_confusion(const eg_metrics *metrics, uint64_t output, uint64_t truth,
                                   uint64_t predicted);

#ifdef __cplusplus
}
#endif
#endif
