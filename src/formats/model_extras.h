/* What a model may do without, as JSON: units, notes, quantization. Only files built with jansson include this. */
#ifndef EG__MODEL_EXTRAS_H
#define EG__MODEL_EXTRAS_H

#include "nn/model.h"

#include <jansson.h>

/* NULL is fine: it has none. */
eg_status eg__model_units_read(eg_model *model, const json_t *object, eg_error *error);
eg_status eg__model_notes_read(eg_model *model, const json_t *object, eg_error *error);
/* How parameters are quantized: their numbers are memory that is still to be filled. */
eg_status eg__model_small_read(eg_model *model, const json_t *object, eg_error *error);
json_t *eg__model_small_json(const eg_model *model); /* NULL = none is */
json_t *eg__model_units_json(const eg_model *model);
json_t *eg__model_notes_json(const eg_model *model);

/* A transformer, values zero; *out may be a model also after a failure. */
eg_status eg__model_transformer_read(eg_context *context, const json_t *object, uint64_t most,
                                     eg_model **out, eg_error *error);
json_t *eg__model_transformer_json(const eg_model *model);

#endif
