/* Transformers beside what torch gave for them. */
#ifndef EG__TEST_TRANSFORMER_H
#define EG__TEST_TRANSFORMER_H

#include "elegans/elegans.h"
#include "test.h"

/* Opens a file or folder of tests/fixtures/transformers and runs it, as parameters, in place and in memory:
 * all outputs must be those of `key` in folder/expected.npz. */
void check_transformer(const char *file, const char *folder, const char *key, double tolerance,
                       double in_place_tolerance);

#endif
