/* Architectures as JSON need jansson. */
#include "formats/models/model_config.h"

eg_status eg__model_config_read(eg_context *context, const char *text, size_t length, uint64_t most,
                                eg_model **out, eg_error *error) {
    (void)context, (void)text, (void)length, (void)most;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "models from files need jansson");
}

eg_status eg__model_config_write(const eg_model *model, char **text, eg_error *error) {
    (void)model;
    *text = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "models in files need jansson");
}
