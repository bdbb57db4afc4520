/* Whether a model and a data set go together: asked before a training and before an evaluation. */
#ifndef EG__TRAIN_CHECK_H
#define EG__TRAIN_CHECK_H

#include "elegans/data.h"

#include <stdbool.h>

/* Data that are not learned from need no targets. */
eg_status eg__data_fits(const eg_model *model, const eg_data *data, eg_loss loss, bool learns,
                        eg_error *error);
/* A target without a single value in the windows would be learned from nothing. EG_ERR_ARGUMENT names it. */
eg_status eg__data_teaches(const eg_data *data, bool validates, eg_error *error);

#endif
