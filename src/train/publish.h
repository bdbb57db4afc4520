/* What a training and an evaluation tell a publisher, which may be NULL in all calls. */
#ifndef EG__TRAIN_PUBLISH_H
#define EG__TRAIN_PUBLISH_H

#include "elegans/fit.h"
#include "train/trainer.h"

/* Of an update of so many batches, and of an evaluation of one batch: counted when they were compiled. */
void eg__publish_update_cost(eg_publisher *publisher, const eg_trainer *t, uint64_t accumulate);
void eg__publish_forward_cost(eg_publisher *publisher, const eg_trainer *t);
void eg__publish_progress(eg_publisher *publisher, const eg_fit_progress *now);

#endif
