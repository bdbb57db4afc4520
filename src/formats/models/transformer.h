/* Transformers in the files of others: GGUF, checkpoints of llama2.c, folders of Hugging Face. Readers make models
 * whose numbers stay in the file. */
#ifndef EG__TRANSFORMER_FILES_H
#define EG__TRANSFORMER_FILES_H

#include "formats/files/file.h"
#include "formats/models/readers.h"
#include "nn/transformer.h"

/* Numbers in a file. */
typedef struct eg__file_tensor {
    const char *name; /* as the file calls it */
    eg__infile_format format;
    unsigned rank;
    const uint64_t *shape;
    const void *data;
} eg__file_tensor;
/* From now on parameter `index` is these; EG_ERR_FORMAT when its shape is another one. */
eg_status eg__transformer_place(eg_model *model, size_t index, const eg__file_tensor *tensor,
                                eg_error *error);

#endif
