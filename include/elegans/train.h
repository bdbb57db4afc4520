/* Training: losses, optimizers, and one step of descent on a batch.
 * Stable. */
#ifndef ELEGANS_TRAIN_H
#define ELEGANS_TRAIN_H

#include "elegans/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum eg_loss {
    EG_LOSS_MSE,
    EG_LOSS_MAE,
    EG_LOSS_HUBER,  /* delta = 1 */
    EG_LOSS_BINARY, /* cross entropy of sigmoid(y) and targets 0 or 1 */
    EG_LOSS_CLASSES /* cross entropy of softmax(y) and a class number */
} eg_loss;
EG_API const char *eg_loss_name(eg_loss loss); /* "mse"; static; NULL past the last */
/* The link of a model trained with this loss; the loss itself takes logits. */
EG_API eg_link eg_loss_link(eg_loss loss);

/* The mean loss of y [.., outputs] against a target (of the same shape; [.., 1] for classes). With a weight
 * of the target's shape, it is the weighted mean of the elements. A weight [.., 1] applies to all elements of
 * a row. */
EG_API eg_node eg_loss_node(eg_graph *graph, eg_loss loss, eg_node y, eg_node target,
                            eg_node weight);

typedef enum eg_optimizer_kind {
    EG_ADAM,
    EG_ADAMW, /* Adam with decoupled weight decay */
    EG_SGD,
    EG_RMSPROP
} eg_optimizer_kind;
EG_API const char *
eg_optimizer_name(eg_optimizer_kind kind); /* "adam"; static; NULL past the last */

typedef struct eg_optimizer { /* all zero = Adam with a learning rate of 0.001 */
    eg_optimizer_kind kind;
    double learning_rate; /* 0 = 0.001 */
    double beta1;         /* momentum; 0 = 0.9 for Adam, none for SGD and RMSprop; below 0 = none */
    double beta2;         /* 0 = 0.999, 0.99 for RMSprop */
    double epsilon;       /* 0 = 1e-8 */
    double weight_decay;
    double clip_norm; /* gradients with a larger norm are scaled down to it; 0 = never */
} eg_optimizer;

typedef struct eg_train_options {
    size_t size;          /* sizeof(eg_train_options); 0 = the fields of version 0.1 */
    uint64_t batch, time; /* of one step; 0 = 1 */
    int last;             /* the loss is that of the last output only */
    int timespans;        /* batches have timespans (elapsed times) */
    int lengths;          /* batches have lengths of samples */
    int forward_only;     /* only eg_trainer_evaluate will be called: half the memory */
    eg_loss loss;
    eg_optimizer optimizer;
    uint64_t
        memory; /* bytes that a scan may keep for the backward pass; 0 = no limit (eg_gradient_options) */
    int layers_again; /* transformers: gradient checkpointing: only the output of each layer is kept, the
                         rest is recomputed in the backward pass */
    /* Mixed precision, EG_F16 or EG_BF16: both sides of every product are rounded to that type; accumulation,
     * parameters, moments and eg_trainer_evaluate stay f32. EG_F16 has dynamic loss scaling: the scale begins at 2^16,
     * is halved (and the update skipped) when a gradient is not finite, and doubles after 2000 updates without that. */
    eg_type dtype; /* 0 = EG_F32 */
} eg_train_options;

typedef struct eg_trainer eg_trainer; /* opaque; used by one thread */
EG_API eg_status eg_trainer_create(const eg_model *model, const eg_train_options *options,
                                   eg_trainer **out, eg_error *error);
EG_API void eg_trainer_destroy(eg_trainer *trainer); /* NULL is fine */

/* The program of eg_trainer_gradient, for its costs and steps. Lives as long as the trainer. */
EG_API const eg_program *eg_trainer_program(const eg_trainer *trainer);
/* All that a step of training runs: programs, compiled once, on the memory of the weights, gradients and moments. */
typedef enum eg_train_part {
    EG_TRAIN_GRADIENT, /* forward and backward: eg_trainer_program */
    EG_TRAIN_SUM, /* the gradient added to what was added since the last update; only where there are several */
    EG_TRAIN_NORM, /* the norm of the gradient */
    EG_TRAIN_UPDATE, /* the step of the optimizer, clipping included, and what the model demands of parameters */
    EG_TRAIN_PARTS
} eg_train_part;
EG_API const char *
eg_train_part_name(eg_train_part part); /* "gradient"; static; NULL past the last */
/* Its program, and its instance for eg_instance_record (`instance` may be NULL): not to be run nor bound. Both live as
 * long as the trainer. NULL for a trainer that only evaluates. */
EG_API const eg_program *eg_trainer_part(const eg_trainer *trainer, eg_train_part part,
                                         eg_instance **instance);

/* Memory for a batch, to be filled before each step; time comes first: x [time, batch, inputs]. A
 * transformer is trained on the next token: loss EG_LOSS_CLASSES, target [batch, time]. */
typedef struct eg_train_batch {
    float *x, *target;
    int32_t *tokens; /* of transformers, instead of x; batch first: [batch, time] */
    float *
        weight; /* one per float of target; 1 at first. Set 0 to mask an element (a missing target, a
                        partial batch), whose target must still be finite */
    float *timespans;     /* timespans [time, batch]; NULL = none */
    float *lengths;       /* [batch]; NULL = none */
    uint64_t target_size; /* floats per sample and step */
} eg_train_batch;
EG_API eg_train_batch eg_trainer_batch(eg_trainer *trainer);
/* Further batches, to be filled while the trainer works on another. `out` must not move while it is
 * used. */
EG_API eg_status eg_trainer_batch_create(eg_trainer *trainer, eg_train_batch *out, eg_error *error);
EG_API void eg_trainer_batch_destroy(eg_trainer *trainer, eg_train_batch *batch);
/* Later steps read this batch; NULL = that of eg_trainer_batch. */
EG_API eg_status eg_trainer_use(eg_trainer *trainer, const eg_train_batch *batch, eg_error *error);

typedef struct eg_train_result {
    double loss;          /* weighted mean */
    double gradient_norm; /* before clipping; NaN when the update was skipped */
    double scale;         /* loss scale from now on; 1 unless the type is EG_F16 */
    int skipped;          /* nothing was updated: a gradient overflowed f16 */
} eg_train_result;
/* Forward and backward pass; accumulates the gradient since the last update. EG_ERR_FORMAT: the
 * loss is not finite; the message names its value, the number of updates, and the first node of the graph with such a
 * value, with sample and time. */
EG_API eg_status eg_trainer_gradient(eg_trainer *trainer, eg_train_result *out, eg_error *error);
/* One step of the optimizer with the mean of the accumulated gradients, clipped.
 * `learning_rate` 0 = the optimizer's. EG_ERR_FORMAT: a gradient is not finite; with EG_F16, not even with
 * the smallest scale, 2^-14. */
EG_API eg_status eg_trainer_update(eg_trainer *trainer, double learning_rate, eg_train_result *out,
                                   eg_error *error);
/* Both. */
EG_API eg_status eg_trainer_step(eg_trainer *trainer, double learning_rate, eg_train_result *out,
                                 eg_error *error);
/* The loss of a batch without dropout, and its outputs ([time, batch, outputs] or [batch, outputs]): standardized
 * values or logits. */
EG_API eg_status eg_trainer_evaluate(eg_trainer *trainer, double *loss, const float **outputs,
                                     eg_error *error);
/* Copies the present parameters into the model and sets the link of the loss. */
EG_API eg_status eg_trainer_store(const eg_trainer *trainer, eg_model *model, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
