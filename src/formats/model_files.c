/* Models in files: safetensors with the architecture in the metadata, and what ncps users have. */
#include "formats/model_config.h"
#include "formats/safetensors.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading */

/* "param." stands before the names in some files, "model." or "rnn." in others: what stands before
 * "rnn_cell". */
static size_t prefix_of(const eg_safetensors *file, char out[64]) {
    out[0] = 0;
    for (size_t i = 0; i < eg_safetensors_count(file); i++) {
        const char *name = eg_safetensors_name(file, i), *cell = strstr(name, "rnn_cell.");
        if (!cell || (size_t)(cell - name) >= 64 || strncmp(name, "grad.", 5) == 0 ||
            strncmp(name, "layers.", 7) == 0)
            continue;
        memcpy(out, name, (size_t)(cell - name));
        out[cell - name] = 0;
        return strlen(out);
    }
    return 0;
}

static eg_status copy_values(eg_model *model, const eg_safetensors *file, eg_error *error) {
    char prefix[64];
    prefix_of(file, prefix);
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        char name[64 + EG__NAME_MAX];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        eg_tensor tensor;
        eg_status status = eg_safetensors_tensor(file, name, &tensor, error);
        if (status == EG_ERR_NOT_FOUND && p->is_mask) continue; /* follows from the wiring */
        if (status) return status;
        const bool same = tensor.rank == p->rank && tensor.shape[0] == p->shape[0] &&
                          (p->rank < 2 || tensor.shape[1] == p->shape[1]);
        if (!same)
            return eg__fail(error, EG_ERR_FORMAT,
                            "'%s' has another shape than the architecture says", name);
        eg_tensor to = tensor;
        to.type = EG_F32;
        to.data = eg__parameter_values(model, p);
        if (tensor.type == EG_F32)
            memcpy(to.data, tensor.data, eg__parameter_size(p) * sizeof(float));
        else status = eg_tensor_convert(model->context, &tensor, &to, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg_model_load(eg_context *context, const char *path, const char *config, eg_model **out,
                        eg_error *error) {
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, path or place");
    *out = NULL;
    eg_safetensors *file;
    eg_status status = eg_safetensors_open(context, path, &file, error);
    if (status) return status;
    const char *text = config ? config : eg_safetensors_metadata(file, "elegans");
    if (!text) text = eg_safetensors_metadata(file, "config");
    eg_model *model = NULL;
    if (!text)
        status = eg__fail(error, EG_ERR_FORMAT,
                          "'%.150s' does not say its architecture: give a config", path);
    else status = eg__model_config_read(context, text, strlen(text), &model, error);
    if (!status) status = copy_values(model, file, error);
    eg_safetensors_close(file);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

eg_status eg_model_open(eg_context *context, const char *file_or_spec, eg_model **out,
                        eg_error *error) {
    if (!context || !file_or_spec || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, model or place");
    const bool spec =
        strncmp(file_or_spec, "cfc:", 4) == 0 || strncmp(file_or_spec, "ltc:", 4) == 0;
    if (is_file(file_or_spec) || (!spec && strchr(file_or_spec, '.')))
        return eg_model_load(context, file_or_spec, NULL, out, error);
    return eg__model_from_spec(context, file_or_spec, out, error);
}

/* ---- writing */
eg_status eg_model_save(const eg_model *model, const char *path, eg_error *error) {
    if (!model || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no path");
    char *config;
    eg_status status = eg__model_config_write(model, &config, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t count = model->parameter_count;
    const char **names =
        eg__memory_take_array(model->memory, EG_TAG_FILE, count + 1, sizeof *names, &reason);
    eg_tensor *tensors =
        eg__memory_take_array(model->memory, EG_TAG_FILE, count + 1, sizeof *tensors, &reason);
    if (names && tensors) {
        for (size_t i = 0; i < count; i++) names[i] = eg_model_tensor(model, i, &tensors[i], NULL);
        const eg_pair metadata[] = {{"elegans", config}, {"format", "pt"}};
        status =
            eg__safetensors_save(model->memory, path, count, names, tensors, 2, metadata, error);
    } else status = eg__fail(error, reason.status, "%s", reason.message);
    eg__memory_give(model->memory, (void *)names);
    eg__memory_give(model->memory, tensors);
    eg__memory_give(model->memory, config);
    return status;
}
