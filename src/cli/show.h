/* What elegans show has to say of transformers. */
#ifndef EG__SHOW_H
#define EG__SHOW_H

#include "cli.h"

void show_transformer(const eg_model_info *info, const eg_transformer_info *t, const char *title);
void show_put_transformer(json *document, const eg_model_info *info, const eg_transformer_info *t);

#endif
