/* Models from whatever a user gives: a file or folder of any format, or a spec. */
#include "formats/models/readers.h"
#include "nn/transformer.h"

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
