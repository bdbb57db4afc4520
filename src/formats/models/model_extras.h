/* Optional parts of a model as JSON: units, notes, quantization. Only files built with jansson
 * include this. */
#ifndef EG__MODEL_EXTRAS_H
#define EG__MODEL_EXTRAS_H

#include "formats/files/json.h"
#include "formats/files/json_read.h"
#include "nn/model.h"

/* NULL is fine: it has none. */
eg_status eg__model_units_read(eg_model *model, const json_t *object, eg_error *error);
eg_status eg__model_notes_read(eg_model *model, const json_t *object, eg_error *error);
/* After units and notes: a file that does not say its link has the one of the loss in its notes. */
eg_status eg__model_link_read(eg_model *model, const json_t *name, eg_error *error);
/* How parameters are quantized: their numbers are memory that is still to be filled. */
eg_status eg__model_quantized_read(eg_model *model, const json_t *object, eg_error *error);
/* Members of the object that is open, when the model has such: "units", "notes", "quantization". */
void eg__model_units_put(eg__json *json, const eg_model *model);
void eg__model_notes_put(eg__json *json, const eg_model *model);
void eg__model_quantized_put(eg__json *json, const eg_model *model);

/* A transformer, values zero; *out may be a model also after a failure. */
eg_status eg__model_transformer_read(eg_context *context, const json_t *object, uint64_t most,
                                     eg_model **out, eg_error *error);
void eg__model_transformer_put(eg__json *json, const char *key, const eg_model *model);

/* A wiring with every synapse, as in a file of its own. */
eg_status eg__wiring_read(eg__memory *memory, const json_t *object, eg__wiring **out,
                          eg_error *error);
void eg__wiring_put(eg__json *json, const char *key, const eg__wiring *wiring);

#endif
