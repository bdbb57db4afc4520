/* What a model may do without, as JSON: units and notes. Only files built with jansson include this. */
#ifndef EG__MODEL_EXTRAS_H
#define EG__MODEL_EXTRAS_H

#include "nn/model.h"

#include <jansson.h>

/* NULL is fine: it has none. */
eg_status eg__model_units_read(eg_model *model, const json_t *object, eg_error *error);
eg_status eg__model_notes_read(eg_model *model, const json_t *object, eg_error *error);
json_t *eg__model_units_json(const eg_model *model);
json_t *eg__model_notes_json(const eg_model *model);

#endif
