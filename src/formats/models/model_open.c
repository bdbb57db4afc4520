/* Models from whatever a user gives: a file or folder of any format, or a spec. */
#include "formats/models/model_config.h"
#include "formats/models/readers.h"
#include "nn/transformer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static eg_status open_path(eg_context *context, const char *path, eg_model **out, eg_error *error) {
    eg__head head;
    eg__head_read(&head, path);
    const eg__reader *reader = eg__reader_find(&head);
    const eg_status status = eg__reader_check(reader, path, error);
    if (status) return status;
    return reader->load ? reader->load(context, path, NULL, out, error)
                        : reader->open(context, path, out, error);
}

static eg_status open_any(eg_context *context, const char *file_or_spec, bool outline,
                          eg_model **out, eg_error *error) {
    if (!context || !file_or_spec || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, model or output pointer");
    const bool spec =
        strncmp(file_or_spec, "cfc:", 4) == 0 || strncmp(file_or_spec, "ltc:", 4) == 0;
    const bool transformer = eg__transformer_is_spec(file_or_spec);
    struct stat info;
    const bool there =
        stat(file_or_spec, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    *out = NULL;
    if (there || (!spec && !transformer && strchr(file_or_spec, '.')))
        return open_path(context, file_or_spec, out, error);
    if (transformer) return eg__transformer_from_spec(context, file_or_spec, outline, out, error);
    return eg__model_from_spec(context, file_or_spec, outline, out, error);
}

eg_status eg_model_open(eg_context *context, const char *file_or_spec, eg_model **out,
                        eg_error *error) {
    return open_any(context, file_or_spec, false, out, error);
}

eg_status eg_model_outline(eg_context *context, const char *file_or_spec, eg_model **out,
                           eg_error *error) {
    return open_any(context, file_or_spec, true, out, error);
}

eg_status eg_model_load(eg_context *context, const char *path, const char *config, eg_model **out,
                        eg_error *error) {
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, path or output pointer");
    *out = NULL;
    eg__head head;
    eg__head_read(&head, path);
    const eg__reader *reader = eg__reader_find(&head);
    const eg_status status = eg__reader_check(reader, path, error);
    if (status) return status;
    if (!reader->load)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "'%.100s' is %s, which has its own architecture: leave out the config",
                        path, reader->what);
    return reader->load(context, path, config, out, error);
}

eg_status eg_model_create(eg_context *context, const char *config, uint64_t seed, eg_model **out,
                          eg_error *error) {
    if (!context || !config || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, architecture or output pointer");
    eg_model *model;
    *out = NULL;
    eg_status status =
        eg__model_config_read(context, config, strlen(config), UINT64_MAX, &model, error);
    if (status) return status;
    if (model->transformer)
        status = eg__fail(error, EG_ERR_UNSUPPORTED,
                          "a transformer is made from a spec, such as 'llama:6:384,vocab=256'");
    for (size_t i = 0; !status && i < model->parameter_count; i++)
        if (model->parameters[i].quantized.quantization.type)
            status = eg__fail(error, EG_ERR_UNSUPPORTED,
                              "'quantization' of a model without values: create it without, then "
                              "quantize it");
    if (!status) status = eg__model_fill(model, error);
    if (!status) status = eg__model_initialise(model, seed, error);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}

eg_status eg_model_config(const eg_model *model, char *out, size_t room, size_t *length,
                          eg_error *error) {
    if (!model || (room && !out))
        return eg__fail(error, EG_ERR_ARGUMENT, "no model or output pointer");
    char *text;
    const eg_status status = eg__model_config_write(model, &text, error);
    if (status) return status;
    if (room) snprintf(out, room, "%s", text);
    if (length) *length = strlen(text);
    eg__memory_give(model->memory, text);
    return EG_OK;
}
