/* What elegans show says of transformers. */
#ifndef EG__SHOW_H
#define EG__SHOW_H

#include "cli/cli.h"

int show_transformer(eg_context *context, const eg_model *model, const char *title, bool tensors,
                     bool as_json);
void show_tensors(const eg_model *model, const char *as_in);
json *show_tensors_json(const eg_model *model);

#endif
