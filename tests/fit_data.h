/* A small data set for tests of whole trainings: waves at irregular times. */
#ifndef EG__TEST_FIT_DATA_H
#define EG__TEST_FIT_DATA_H

#include "elegans/elegans.h"

enum { FIT_ROWS = 400 };
typedef struct fit_data {
    eg_context *context, *made; /* made: the same if it goes with the data */
    eg_model *model;
    eg_data *whole, *training, *validation;
} fit_data;

/* Columns t, a, b, next (of a): recordings of 100 rows. `spoiled`: the target
 * of row 205 is 3e38. */
eg_status fit_data_open(fit_data *out, const eg_context_options *options, const char *spec,
                        bool spoiled, eg_error *error);
/* The same in a context that is there, and stays. */
eg_status fit_data_open_in(fit_data *out, eg_context *context, const char *spec, bool spoiled,
                           eg_error *error);
void fit_data_close(fit_data *data);
/* A number that changes with every bit of the parameters. */
uint64_t fit_model_bits(const eg_model *model);

#endif
