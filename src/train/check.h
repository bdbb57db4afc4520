/* Whether a model and a data set fit together: checked before training and before evaluation. */
#ifndef EG__TRAIN_CHECK_H
#define EG__TRAIN_CHECK_H

#include "elegans/data.h"

#include <stdbool.h>

/* Data that are not learned from need no targets. */
eg_status eg__data_fits(const eg_model *model, const eg_data *data, eg_loss loss, bool learns,
                        eg_error *error);
/* EG_ERR_ARGUMENT names a target that has no value in any window, and so nothing to learn from. */
eg_status eg__data_teaches(const eg_data *data, bool validates, eg_error *error);

#endif
