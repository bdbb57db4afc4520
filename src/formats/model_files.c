/* Models in files: safetensors with the architecture in the metadata, and what ncps users have. */
#include "formats/model_config.h"
#include "formats/file.h"
#include "formats/safetensors.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- reading */

/* Where tensors come from: one of the two. */
typedef struct tensor_source {
    eg_context *context;
    eg_safetensors *file;
    eg_npz *archive;
} tensor_source;

static bool is_npz(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npz") == 0;
}

static eg_status open_tensors(tensor_source *from, eg_context *context, const char *path,
                              eg_error *error) {
    *from = (tensor_source){.context = context};
    return is_npz(path) ? eg_npz_open(context, path, &from->archive, error)
                        : eg_safetensors_open(context, path, &from->file, error);
}

static void close_tensors(tensor_source *from) {
    eg_safetensors_close(from->file);
    eg_npz_close(from->archive);
}

static const char *name_of(const tensor_source *from, size_t index) {
    if (from->archive) return eg_npz_name(from->archive, index);
    return index < eg_safetensors_count(from->file) ? eg_safetensors_name(from->file, index) : NULL;
}

/* "param." stands before the names in some files, "model." or "rnn." in others: what stands before the
 * name of a parameter, unless it says that this is a part of a larger model, or a gradient. */
static bool is_prefix(const char *name, size_t length) {
    static const char *const others[] = {"grad.", "layers.", "forward.", "backward."};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0 && length) return false;
    return length < 64 && (!length || name[length - 1] == '.');
}

static void find_prefix(const tensor_source *from, const eg_model *model, char out[64]) {
    const char *name;
    out[0] = 0;
    for (size_t i = 0; i < model->parameter_count; i++) {
        const char *wanted = model->parameters[i].name;
        for (size_t k = 0; (name = name_of(from, k)); k++) {
            const size_t all = strlen(name), end = strlen(wanted);
            if (all < end || strcmp(name + all - end, wanted) != 0 || !is_prefix(name, all - end))
                continue;
            memcpy(out, name, all - end);
            out[all - end] = 0;
            return;
        }
    }
}

static eg_status copy_tensor(eg_model *model, const eg__parameter *p, const char *name,
                             const eg_tensor *tensor, eg_error *error) {
    const bool same = tensor->rank == p->rank && tensor->shape[0] == p->shape[0] &&
                      (p->rank < 2 || tensor->shape[1] == p->shape[1]);
    if (!same)
        return eg__fail(error, EG_ERR_FORMAT, "'%s' has another shape than the architecture says",
                        name);
    eg_tensor to = *tensor;
    to.type = EG_F32;
    to.data = eg__parameter_values(model, p);
    if (tensor->type != EG_F32) return eg_tensor_convert(model->context, tensor, &to, error);
    memcpy(to.data, tensor->data, eg__parameter_size(p) * sizeof(float));
    return EG_OK;
}

static eg_status copy_one(eg_model *model, const tensor_source *from, const eg__parameter *p,
                          const char *name, eg_error *error) {
    eg_tensor tensor;
    eg_status status = from->archive ? eg_npz_read(from->archive, name, &tensor, error)
                                     : eg_safetensors_tensor(from->file, name, &tensor, error);
    if (status) return status;
    status = copy_tensor(model, p, name, &tensor, error);
    if (from->archive) eg_tensor_release(from->context, &tensor);
    return status;
}

static eg_status copy_values(eg_model *model, const tensor_source *from, const char *path,
                             eg_error *error) {
    char prefix[64], missing[160] = "";
    size_t lacking = 0, named = 0, used = 0;
    find_prefix(from, model, prefix);
    for (size_t i = 0; i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        char name[64 + EG__NAME_MAX];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        eg_error reason;
        eg_status status = copy_one(model, from, p, name, &reason);
        if (status && status != EG_ERR_NOT_FOUND)
            return eg__fail(error, status, "%s", reason.message);
        if (!status || p->is_mask) continue; /* a mask follows from the wiring */
        lacking++;
        if (used + strlen(name) + 25 > sizeof missing && named) continue; /* " and 20 more" fits */
        used += (size_t)snprintf(missing + used, sizeof missing - used, "%s'%.120s'",
                                 named++ ? ", " : "", name);
    }
    if (!lacking) return EG_OK;
    if (lacking > named)
        snprintf(missing + used, sizeof missing - used, " and %zu more", lacking - named);
    eg__fail(error, EG_ERR_NOT_FOUND, "no tensor %s", missing);
    return eg__file_blame(error, EG_ERR_NOT_FOUND, "", path);
}

eg_status eg_model_load(eg_context *context, const char *path, const char *config, eg_model **out,
                        eg_error *error) {
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, path or place");
    *out = NULL;
    tensor_source from;
    eg_status status = open_tensors(&from, context, path, error);
    if (status) return status;
    const char *text = config;
    if (!text && from.file) text = eg_safetensors_metadata(from.file, "elegans");
    if (!text && from.file) text = eg_safetensors_metadata(from.file, "config");
    eg_model *model = NULL;
    if (!text)
        status = eg__fail(error, EG_ERR_FORMAT,
                          "'%.150s' does not say its architecture: give a config", path);
    else status = eg__model_config_read(context, text, strlen(text), &model, error);
    if (!status) status = copy_values(model, &from, path, error);
    close_tensors(&from);
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
