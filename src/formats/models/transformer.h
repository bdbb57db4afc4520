/* Transformers in the files of others: GGUF, checkpoints of llama2.c, folders of Hugging Face. */
#ifndef EG__TRANSFORMER_FILES_H
#define EG__TRANSFORMER_FILES_H

#include "formats/files/file.h"
#include "nn/transformer.h"

/* Each opens a file (or folder), checks it, and makes a model whose numbers stay where they are. */
eg_status eg__transformer_from_gguf(eg_context *context, const char *path, eg_model **out,
                                    eg_error *error);
eg_status eg__transformer_from_llama2c(eg_context *context, const char *path, eg_model **out,
                                       eg_error *error);
eg_status eg__transformer_from_folder(eg_context *context, const char *path, eg_model **out,
                                      eg_error *error);

/* Numbers in a file. */
typedef struct eg__file_tensor {
    const char *name; /* as the file calls it */
    eg_type type;     /* EG_I8 and EG_I4 are blocks */
    unsigned rank;
    const uint64_t *shape;
    const void *data;
} eg__file_tensor;
/* From now on parameter `index` is these; EG_ERR_FORMAT when its shape is another one. */
eg_status eg__transformer_place(eg_model *model, size_t index, const eg__file_tensor *tensor,
                                eg_error *error);

#endif
