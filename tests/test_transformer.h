/* Transformers beside what torch gave for them. */
#ifndef EG__TEST_TRANSFORMER_H
#define EG__TEST_TRANSFORMER_H

#include "elegans/elegans.h"
#include "test.h"

/* Opens a file or folder of tests/fixtures/transformers and runs it, as parameters, in place and in memory:
 * all outputs must be those of `key` in folder/expected.npz. */
void check_transformer(const char *file, const char *folder, const char *key, double tolerance,
                       double in_place_tolerance);

/* The likeliest tokens after 5 of folder/expected.npz, one by one, must be those that torch chose. */
void check_choices(const char *file, const char *folder, eg_type cache);

/* Where a file or folder of tests/fixtures/transformers is (an absolute path stays as it is); writes 512 bytes at
 * most, and returns `out`. */
const char *transformer_path(const char *name, char out[512]);
/* One tensor of folder/expected.npz; release it with eg_tensor_release. */
void transformer_expected(eg_context *context, const char *folder, const char *key, eg_tensor *out);
/* What the model says after each of the tokens, all looked at together and without a cache: a row of
 * `vocabulary` numbers for each (with `hidden`, of `width`). The caller frees it. */
float *transformer_rows(eg_context *context, const eg_model *model, const uint32_t *tokens,
                        size_t count, int in_place, int hidden);

/* A context with a budget that a file of a few kilobytes must never come near. */
eg_context *small_context(void);
/* Opens a model from a file or folder: `wanted`, with `part` in the message; nothing may be left of it. */
void check_opening(eg_context *context, const char *path, const char *what, eg_status wanted,
                   const char *part);

#endif
