/* Folders of Hugging Face say in JSON what they are. */
#include "formats/models/transformer.h"

eg_status eg__transformer_from_folder(eg_context *context, const char *path, eg_model **out,
                                      eg_error *error) {
    (void)context;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "'%.150s': folders of Hugging Face need jansson",
                    path);
}
