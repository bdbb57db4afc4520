/* Whole trainings: epochs over a data set, with a schedule, validation, early stopping and checkpoints.
 * Experimental. */
#ifndef ELEGANS_FIT_H
#define ELEGANS_FIT_H

#include "elegans/data.h"
#include "elegans/metrics.h"
#include "elegans/publish.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- learning rates over time */
typedef enum eg_schedule_kind {
    EG_SCHEDULE_CONSTANT,
    EG_SCHEDULE_EXPONENTIAL, /* multiplied by `decay` after each epoch */
    EG_SCHEDULE_COSINE       /* half a cosine down to `floor` at the end of the last epoch */
} eg_schedule_kind;
EG_API const char *eg_schedule_name(eg_schedule_kind kind); /* static; NULL past the last */
typedef struct eg_schedule {                                /* all zero = constant */
    eg_schedule_kind kind;
    double decay;  /* 0 = 0.95 */
    double floor;  /* a fraction of the rate */
    double warmup; /* epochs of linear warm-up from 0 before that */
} eg_schedule;
/* The factor of the learning rate at `epoch` (may be fractional) of `epochs`. */
EG_API double eg_schedule_factor(const eg_schedule *schedule, double epoch, double epochs);

/* ---- progress */
typedef struct eg_fit_epoch {   /* a line of the history */
    double loss;                /* mean over the batches of the epoch, each before its update */
    double validation;          /* NaN = no validation data */
    double rate, gradient_norm; /* at its end; the norm is the mean */
    double seconds;             /* measured */
} eg_fit_epoch;

typedef enum eg_fit_event {
    EG_FIT_STEP,      /* after an update, or one that was skipped */
    EG_FIT_EPOCH,     /* after the validation of an epoch */
    EG_FIT_CHECKPOINT /* after one was written */
} eg_fit_event;

typedef struct eg_fit_progress {
    eg_fit_event event;
    uint64_t epoch, epochs;  /* current epoch, from 1 */
    uint64_t batch, batches; /* done in this epoch */
    uint64_t steps;          /* updates so far */
    uint64_t batch_size;
    double loss;       /* mean of this epoch so far */
    double validation; /* of the last epoch that has one; NaN = none */
    double best;       /* the least so far; NaN = none */
    uint64_t best_epoch;
    double rate, gradient_norm;
    double samples_per_second; /* measured, over this epoch */
    double seconds,
        seconds_left; /* of this run; seconds_left without early stopping; NaN = unknown */
    int resumed;      /* it continues from a checkpoint */
    eg_type dtype;    /* as the options say */
    double scale;     /* of the loss, with EG_F16; otherwise 1 */
    uint64_t skipped; /* updates that were not made, because a gradient overflowed f16 */
} eg_fit_progress;
/* Return 0 to continue; anything else ends training, with a checkpoint. */
typedef int (*eg_fit_function)(void *user, const eg_fit_progress *progress);

typedef struct eg_fit_options { /* all zero = defaults */
    size_t size;                /* sizeof(eg_fit_options); 0 = the fields of version 0.1 */
    eg_loss loss;
    eg_optimizer optimizer;
    eg_schedule schedule;
    uint64_t epochs;   /* 0 = 50 */
    uint64_t patience; /* early stopping after this many epochs without improvement; 0 = never */
    uint64_t batch; /* windows per step; 0 = as many as fit into `memory`, within the next two, */
    uint64_t batch_least, batch_most; /* starting from 32; 0 = 1 and 128 */
    uint64_t accumulate;              /* batches whose gradients make one update; 0 = 1 */
    uint64_t
        memory; /* bytes that training may take; 0 = no limit. Where a batch does not fit, steps of
                           scans are recomputed in the backward pass (gradient checkpointing) */
    eg_type dtype; /* of products in training, EG_F16 or EG_BF16 (eg_train_options); 0 = EG_F32 */
    uint64_t seed; /* of the order of windows and of dropout */
    double
        average; /* decay of an exponential moving average of the parameters (0.999), which is then
                           what is validated and kept; 0 = the parameters themselves */
    /* a file; NULL = none. It has checksums: a damaged one is EG_ERR_FORMAT. Training does not start where it cannot be
     * written; when writing fails later (a full disk), the old one stays intact, the context's log warns, and
     * training continues. Only the checkpoint after a stop must succeed. */
    const char *checkpoint;
    double checkpoint_seconds; /* between two checkpoints; 0 = 10 */
    uint64_t checkpoint_steps; /* or this many updates; 0 = by time */
    int resume;    /* continue from the checkpoint if it exists; it must match model and data */
    int keep_last; /* keep the parameters of the last epoch, not of the best */
    eg_fit_function progress; /* NULL = silent */
    void *user;
    /* Told of every update: its time without waiting for data, its counted costs, losses and how far the training is.
     * NULL = none. */
    eg_publisher *publisher;
} eg_fit_options;

typedef struct eg_fit_result {
    uint64_t epochs, steps; /* done, including those before a checkpoint */
    uint64_t skipped;       /* updates skipped because a gradient overflowed f16 */
    double scale;           /* of the loss at the end; 1 unless the type is EG_F16 */
    uint64_t batch_size;
    uint64_t best_epoch;
    double best;    /* the least validation loss, or training loss without such data */
    double initial; /* the same loss of the model before training (without validation data, on 16
                        batches of the training data), */
    double
        constant; /* and of always predicting the mean of the training data (classes: their frequencies) */
    int diverged; /* 1 when eg_fit failed because a loss or gradient was not finite, or nothing was
                        learned; all else is 0 then */
    int stopped;  /* by the progress function */
    int early;    /* by patience */
    double seconds;              /* of this run */
    uint64_t memory;             /* bytes that the trainer took; counted */
    uint64_t checkpoints_failed; /* checkpoints that could not be written */
    uint64_t history_count;
    eg_fit_epoch *history; /* give it back with eg_fit_release */
} eg_fit_result;

/* Trains `model` in its standard units (call eg_model_scaling_set first) and sets its link to that of the loss.
 * `validation` may be NULL. After a failure the model is unchanged. `out` may be NULL. Targets that are
 * missing are masked one by one (eg_data_info says how many). EG_ERR_ARGUMENT: a target without any value in
 * the training data, or none at all in the validation data. EG_ERR_FORMAT: a loss or gradient is not
 * finite; or nothing was learned: the loss on the training data is more than 1.1 times that of the model as
 * before training, and of predicting the mean, in every epoch (with keep_last, in the last one), or the
 * validation loss is never finite. */
EG_API eg_status eg_fit(eg_model *model, const eg_data *training, const eg_data *validation,
                        const eg_fit_options *options, eg_fit_result *out, eg_error *error);
EG_API void eg_fit_release(eg_model *model, eg_fit_result *result);
/* EG_ERR_BUDGET: weights, gradients, moments and copies of the parameters alone exceed options->memory, or what is left
 * of the context's budget. eg_fit calls it first; it also works on models that are too large to be opened
 * (eg_model_outline). */
EG_API eg_status eg_fit_check(const eg_model *model, const eg_fit_options *options,
                              eg_error *error);

/* ---- a model over all windows of a data set */
typedef struct eg_evaluate_options {
    size_t size; /* sizeof(eg_evaluate_options); 0 = the fields of version 0.1 */
    eg_loss loss;
    uint64_t batch; /* 0 = 32 */
    /* Called with the outputs of each window, in the units of the user and with the link applied. May be NULL. */
    void (*outputs)(void *user, uint64_t window, uint64_t steps, const float *outputs);
    void *user;
    /* Asked before each batch, on the thread that evaluates: anything but 0 ends it with EG_ERR_STOPPED. NULL = never.
     */
    int (*stop)(void *user);
    void *stop_user;
    eg_publisher *publisher; /* told of every batch and what it costs; NULL = none */
} eg_evaluate_options;
/* `loss` is in standard units, as in training; `metrics` are in those of the user. Both may be NULL; data without
 * targets have neither. EG_ERR_ARGUMENT: the model gives probabilities that do not match the loss. */
EG_API eg_status eg_evaluate(const eg_model *model, const eg_data *data,
                             const eg_evaluate_options *options, double *loss, eg_metrics *metrics,
                             eg_error *error);

/* ---- around a training: a model for some data, its units, and what it remembers of them. `elegans train` and the
 * Python package call these, so that both make the same model of the same data. */

/* `spec` ("cfc:autoncp:32:16") completed by what follows from data: its inputs and, where the last layer is a CfC with
 * other outputs than there are targets (or classes), a linear map to those. What the spec says stays; it gets `seed`
 * where it has none and that is not 0. At most `room` bytes of `text` are written. *outline (may be NULL) is that model
 * without values (eg_model_outline); you own it. EG_ERR_ARGUMENT: inputs or outputs that are not those of the data, or a
 * spec that is too long; EG_ERR_UNSUPPORTED: a transformer. On failure *outline is NULL. */
EG_API eg_status eg_fit_spec(eg_context *context, const char *spec, const eg_data *data,
                             uint64_t seed, char *text, size_t room, eg_model **outline,
                             eg_error *error);

typedef enum eg_standardize {
    EG_STANDARDIZE_BOTH,
    EG_STANDARDIZE_INPUTS,
    EG_STANDARDIZE_TARGETS,
    EG_STANDARDIZE_NONE
} eg_standardize;
EG_API const char *
eg_standardize_name(eg_standardize which); /* "both"; static; NULL past the last */
/* Sets the units of a model that has learned nothing yet: mean and deviation of the columns in the training data
 * (eg_data_scaling; targets of classes and of EG_LOSS_BINARY stay as they are), and elapsed times in `time_unit`, 0 =
 * their median. */
EG_API eg_status eg_fit_units(eg_model *model, const eg_data *data, eg_loss loss,
                              eg_standardize which, double time_unit, eg_error *error);

/* Writes into the notes of a model what it learned from: names of inputs, targets and classes, and those `options` of
 * the data that other data need as well. `dates`: the order of dates in the files, "mdy"; NULL = none was given. */
EG_API eg_status eg_fit_remember(eg_model *model, const eg_data *data,
                                 const eg_data_options *options, const char *dates, eg_loss loss,
                                 eg_error *error);
/* What those notes say, as options for other data: 0 and NULL where there is no such note. Whether the targets are
 * classes follows from the loss. Set out->size before; `loss` may be NULL, and is EG_LOSS_MSE without a note. Texts live
 * as long as the model, unchanged, and until eg_fit_recall_release, which accepts all-zero options. EG_ERR_FORMAT: a
 * note that makes no sense; `out` is then all zero but for its size. */
EG_API eg_status eg_fit_recall(const eg_model *model, eg_data_options *out, eg_loss *loss,
                               eg_error *error);
EG_API void eg_fit_recall_release(const eg_model *model, eg_data_options *options);

#ifdef __cplusplus
}
#endif
#endif
