/* The state of a training, shared by the loop, its checkpoints and the choice of a batch. */
#ifndef EG__FIT_H
#define EG__FIT_H

#include "elegans/fit.h"
#include "train/loader.h"

/* The state of a training at the end of a step, besides its arrays: counts and doubles, 8 bytes
 * each, stored in checkpoints as they are. The order of windows and dropout are functions of it. */
typedef struct eg__fit_state {
    uint64_t version;
    uint64_t model_hash, data_hash, options_hash; /* what it belongs to */
    uint64_t batch_size, count;                   /* floats of the parameters */
    uint64_t epoch, batch; /* done; batches of the next epoch that are done */
    uint64_t steps, seed;
    uint64_t best_epoch, stale, history_count;
    double best, validation;
    double loss_sum, loss_weight, norm_sum, norms; /* of the epoch so far */
    double rate;                                   /* of the last update */
    double scale;                                  /* of the loss */
    uint64_t good, skipped;
} eg__fit_state;
enum { EG__FIT_VERSION = 3, EG__FIT_WORDS = sizeof(eg__fit_state) / 8 };

typedef struct eg__fit {
    eg_model *model;
    const eg_data *training, *validation;
    eg_fit_options options;
    eg_data_info data;
    eg_trainer *trainer;
    eg__loader *loader, *validation_loader;
    uint32_t *order;
    eg__fit_state state;
    float *best, *average; /* parameters */
    eg_fit_epoch *history;
    size_t history_room;
    uint64_t batches, began, epoch_began, saved; /* ns */
    uint64_t samples;                            /* of this epoch, in this run */
    uint64_t saved_steps;
    double rate, norm;
    /* Losses of the initial model and of predicting the mean: on the data that choose the best
     * epoch, and on the training data. */
    double initial, constant, training_initial, training_constant;
    bool resumed, unsaved;      /* unsaved: the last checkpoint could not be written */
    uint64_t checkpoint_failed; /* how often that happened */
} eg__fit;

/* ---- fit_batch.c: makes a trainer that fits into memory */
eg__train_room eg__fit_room(const eg__fit *f);
eg_status eg__fit_trainer(eg__fit *f, eg_error *error);
/* ---- reference.c: the loss of predicting the mean of the training's targets (for classes, how often they
 * occur) for some data. */
eg_status eg__fit_constant(const eg__fit *f, const eg_data *data, double *out, eg_error *error);
/* ---- checkpoint.c */
eg_status eg__checkpoint_save(eg__fit *f, eg_error *error);
/* Checks that a checkpoint can be written, before the training starts. */
eg_status eg__checkpoint_try(const eg__fit *f, eg_error *error);
/* EG_ERR_NOT_FOUND: there is no such file. EG_ERR_FORMAT: it is damaged. EG_ERR_ARGUMENT: it is of
 * another model, data or options. The batch size is read before the trainer is made, all else
 * after. */
eg_status eg__checkpoint_batch(const eg__fit *f, uint64_t *batch_size, eg_error *error);
eg_status eg__checkpoint_load(eg__fit *f, eg_error *error);
eg_status eg__fit_hash(eg__fit *f, eg_error *error); /* of the three */
eg_status eg__fit_history_room(eg__fit *f, uint64_t count, eg_error *error);

#endif
