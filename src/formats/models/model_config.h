/* The architecture of a model as JSON: ours, and the arguments of ncps. */
#ifndef EG__MODEL_CONFIG_H
#define EG__MODEL_CONFIG_H

#include "nn/model.h"

/* A model with all its layers, values zero. {"elegans_model": 1, "layers": [...]}, or the arguments of one
 * layer as ncps takes them: {"model": "CfC", "input_size": 4, "units": 8, ...}. One with more than `most`
 * numbers is EG_ERR_FORMAT before memory is taken for them. */
eg_status eg__model_config_read(eg_context *context, const char *text, size_t length, uint64_t most,
                                eg_model **out, eg_error *error);
/* Text in memory of the model (EG_TAG_FILE), which the caller gives back. */
eg_status eg__model_config_write(const eg_model *model, char **text, eg_error *error);

#endif
