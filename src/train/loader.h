/* A thread that fills batches ahead of the training. */
#ifndef EG__LOADER_H
#define EG__LOADER_H

#include "elegans/data.h"
#include "train/trainer.h"

enum { EG__LOADER_BATCHES = 4 };
typedef struct eg__loader eg__loader;

/* Windows of `data` for `trainer`, in the units of its model. */
eg_status eg__loader_start(eg_trainer *trainer, const eg_data *data, eg__loader **out,
                           eg_error *error);
void eg__loader_stop(eg__loader *loader); /* NULL is fine */
/* Starts an epoch at batch `first`, with `count` windows in the given order (NULL = their own). The
 * list must stay valid until the last batch was taken. */
void eg__loader_begin(eg__loader *loader, const uint32_t *order, uint64_t count, uint64_t first);
/* The next batch, valid until the next call. NULL after the last. */
const eg_train_batch *eg__loader_next(eg__loader *loader);

#endif
