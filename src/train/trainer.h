/* What the parts of training share: a trainer's programs, memory and counters. */
#ifndef EG__TRAINER_H
#define EG__TRAINER_H

#include "nn/model.h"
#include "train/update.h"

struct eg_trainer {
    eg_context *context;
    eg__memory *memory;
    const eg_model *model;
    eg_train_options options;
    eg_model_info info;
    eg_program *program, *forward; /* with gradients, and without dropout or gradients */
    eg_weights *weights;
    eg_instance *instance, *forward_instance;
    size_t count;                      /* floats of all parameters, with the gaps between them */
    float *gradients, *first, *second; /* in the order of the weights */
    float *sum;           /* of gradients, in that order; NULL until there are two to add */
    eg__update update;    /* the programs that work on these */
    bool summed;          /* gradients were accumulated in `sum`; else there was one run, or none */
    eg_train_batch batch; /* its own */
    bool batch_filled;    /* somebody has asked for it */
    const eg_train_batch *used;
    float *outputs, loss;
    bool gives;   /* evaluation only: the model's public output differs from `outputs` */
    float *given; /* that output; else NULL */
    uint64_t steps, added, seed; /* updates; gradients in the sum; seed of dropout */
    float scale;                 /* loss scale; 1 = none */
    uint64_t good, skipped;      /* updates since the scale changed; skipped updates */
};

/* ---- trainer_program.c */
#define EG__LOSS_SCALE "loss_scale" /* the name of that input */
typedef struct eg__train_nodes {
    eg_model_nodes model;
    eg_node target, weight, loss;
} eg__train_nodes;
/* The model and its loss. */
eg_status eg__train_graph(const eg_trainer *t, eg_graph *graph, eg__train_nodes *out,
                          eg_error *error);
/* The gradients of that loss, times the loss scale if there is one (an input). */
eg_status eg__train_gradient(const eg_trainer *t, eg_graph *graph,
                             const eg_gradient_options *options, eg_node loss, size_t count,
                             const eg_node *wrt, eg_node *out, eg_error *error);
eg_status eg__train_compile(eg_trainer *t, eg_error *error);
/* Memory that a training needs beside its programs, and the limit. */
typedef struct eg__train_room {
    uint64_t batches, copies; /* of its input, and of the parameters */
    uint64_t most;            /* bytes; 0 = no limit */
} eg__train_room;
/* Weights, gradients and two moments: each as large as the parameters. */
enum { EG__TRAIN_ARRAYS = 4 };
/* Bytes of a trainer with compiled programs, known before anything is allocated. */
uint64_t eg__train_bytes(const eg_trainer *t, const eg__train_room *room);
/* ---- trainer.c: fails with EG_ERR_BUDGET before anything but programs is allocated; `room` may be
 * NULL. */
eg_status eg__trainer_create(const eg_model *model, const eg_train_options *options,
                             const eg__train_room *room, eg_trainer **out, eg_error *error);

/* ---- blame.c: finds where a non-finite loss comes from; the message is in `error` */
typedef struct eg__blame {
    uint64_t sample; /* sample of the batch; UINT64_MAX = unknown */
} eg__blame;
eg_status eg__train_blame(eg_trainer *t, eg__blame *out, eg_error *error);

#endif
