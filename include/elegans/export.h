/* Programs as plain C: source that computes what a program computes, without this library.
 * Stable. */
#ifndef ELEGANS_EXPORT_H
#define ELEGANS_EXPORT_H

#include "elegans/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_export_info {
    size_t size;           /* sizeof(eg_export_info); 0 = the fields of version 0.1 */
    uint64_t code_lines;   /* of NAME.c, without the weights */
    uint64_t weight_bytes; /* constant data (flash), in quantized form where quantized */
    uint64_t state_bytes, arena_bytes; /* of struct NAME: memory of each instance */
} eg_export_info;

/* Writes DIRECTORY/NAME.c and DIRECTORY/NAME.h (beside and renamed): C99 that needs nothing but
 * <math.h>, <string.h> and, for integers, <stdint.h>, and takes no memory. They declare a struct NAME and
 *
 *   void NAME_init(NAME *self);    states to zero
 *   void NAME_reset(NAME *self);   the same later
 *   void NAME_step(NAME *self, const float *INPUT..., float *OUTPUT...);
 *
 * with one pointer per input and output in the order of the program; NAME.h gives the shape of each. Scans run over
 * their whole length. NAME is a C identifier. `weights` may be NULL when there are no parameters; `info` may be NULL.
 * EG_ERR_UNSUPPORTED names a step that cannot be written as C (dropout); EG_ERR_BUSY: the weights are being changed. */
EG_API eg_status eg_export_c(eg_program *program, eg_weights *weights, const char *directory,
                             const char *name, eg_export_info *info, eg_error *error);

/* The same for one step of a model, with its state: NAME_step(self, x, elapsed, y). Bidirectional models
 * cannot be stepped (EG_ERR_UNSUPPORTED). */
EG_API eg_status eg_model_export_c(eg_model *model, const char *directory, const char *name,
                                   eg_export_info *info, eg_error *error);

#ifdef __cplusplus
}
#endif
#endif
