/* Transformers beside what torch gave for them. */
#ifndef EG__TEST_TRANSFORMER_H
#define EG__TEST_TRANSFORMER_H

#include "elegans/elegans.h"
#include "test.h"

/* Opens a file or folder of tests/fixtures/transformers and runs it, as parameters, in place and in memory:
 * all outputs must be those of `key` in folder/expected.npz. */
void check_transformer(const char *file, const char *folder, const char *key, double tolerance,
                       double in_place_tolerance);

/* Where a file or folder of tests/fixtures/transformers is; writes 512 bytes at most, and returns `out`. */
const char *transformer_path(const char *name, char out[512]);
/* One tensor of folder/expected.npz; release it with eg_tensor_release. */
void transformer_expected(eg_context *context, const char *folder, const char *key, eg_tensor *out);
/* What the model says after each of the tokens, all looked at together and without a cache: a row of
 * `vocabulary` numbers for each (with `hidden`, of `width`). The caller frees it. */
float *transformer_rows(eg_context *context, const eg_model *model, const uint32_t *tokens,
                        size_t count, int in_place, int hidden);

#endif
