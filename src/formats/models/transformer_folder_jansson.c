/* Transformers from folders of Hugging Face: config.json, and safetensors in one file or several. */
#include "formats/files/json_read.h"
#include "formats/models/transformer.h"
#include "formats/models/transformer_folder.h"
#include "formats/models/transformer_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_MAX = 1 << 24 };

static void close_folder(void *file) {
    eg__folder *f = file;
    for (size_t i = 0; i < f->count; i++) eg_safetensors_close(f->files[i]);
    for (size_t i = 0; i < f->dense_count; i++) eg_safetensors_close(f->dense[i]);
    eg__memory_give(f->memory, f);
}

/* ---- JSON */
eg_status eg__folder_join(const eg__folder *f, const char *name, char out[EG__PATH_SIZE],
                          eg_error *error) {
    const int n = snprintf(out, EG__PATH_SIZE, "%s/%s", f->path, name);
    return n > 0 && n < EG__PATH_SIZE
               ? EG_OK
               : eg__fail(error, EG_ERR_ARGUMENT, "the path of '%.60s' is too long", name);
}

bool eg__folder_has(const eg__folder *f, const char *name) {
    char path[EG__PATH_SIZE];
    struct stat info;
    return !eg__folder_join(f, name, path, NULL) && stat(path, &info) == 0;
}

eg_status eg__folder_json(const eg__folder *f, const char *name, bool list, json_t **out,
                          eg_error *error) {
    char path[EG__PATH_SIZE];
    void *bytes;
    size_t length;
    *out = NULL;
    eg_status status = eg__folder_join(f, name, path, error);
    if (!status) status = eg__file_read(f->memory, path, CONFIG_MAX, &bytes, &length, error);
    if (status) return status;
    status = eg__json_read(f->memory, bytes, length, out, error);
    eg__memory_give(f->memory, bytes);
    if (!status && (list ? !json_is_array(*out) : !json_is_object(*out))) {
        status = eg__fail(error, EG_ERR_FORMAT, "the file is not JSON with %s at its root",
                          list ? "a list" : "an object");
        json_decref(*out);
        *out = NULL;
    }
    return status ? eg__file_blame(error, status, "file", name) : EG_OK;
}

const json_t *eg__config_get(const eg__config *c, const char *key) {
    const json_t *value = json_object_get(c->object, key);
    return json_is_null(value) ? NULL : value;
}
uint32_t eg__config_count_or(eg__config *c, const char *key, uint32_t otherwise) {
    const json_t *value = eg__config_get(c, key);
    if (!value) return otherwise;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= 0 && number <= UINT32_MAX) return (uint32_t)number;
    if (!c->status) c->status = eg__fail(c->error, EG_ERR_FORMAT, "'%s' is not a count", key);
    return otherwise;
}
uint32_t eg__config_count(eg__config *c, const char *key) {
    if (!eg__config_get(c, key) && !c->status)
        c->status = eg__fail(c->error, EG_ERR_FORMAT, "config.json has no '%s'", key);
    return eg__config_count_or(c, key, 0);
}
bool eg__config_flag_or(eg__config *c, const char *key, bool otherwise) {
    const json_t *value = eg__config_get(c, key);
    if (!value) return otherwise;
    if (!json_is_boolean(value) && !c->status)
        c->status = eg__fail(c->error, EG_ERR_FORMAT, "'%s' is not true or false", key);
    return json_is_true(value);
}
const char *eg__config_text_or(eg__config *c, const char *key, const char *otherwise) {
    const json_t *value = eg__config_get(c, key);
    if (value && !json_is_string(value) && !c->status)
        c->status = eg__fail(c->error, EG_ERR_FORMAT, "'%s' is not a text", key);
    return json_is_string(value) ? json_string_value(value) : otherwise;
}
void eg__config_refuse(eg__config *c, const char *key, const char *value) {
    char shown[64];
    if (!c->status)
        c->status = eg__fail(c->error, EG_ERR_UNSUPPORTED, "'%s' of '%s' is not known here", key,
                             eg__file_quote(shown, sizeof shown, value, strlen(value)));
}

/* ---- tensors */
static eg_status open_file(eg_context *context, eg__folder *f, const char *name, eg_error *error) {
    char path[EG__PATH_SIZE];
    if (f->count == EG__FOLDER_FILES_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d files of weights",
                        EG__FOLDER_FILES_MAX);
    if (strchr(name, '/'))
        return eg__fail(error, EG_ERR_FORMAT,
                        "the index names weights in '%.80s', outside of the folder", name);
    eg_status status = eg__folder_join(f, name, path, error);
    if (!status) status = eg_safetensors_open(context, path, &f->files[f->count], error);
    if (!status) f->count++;
    return status;
}

/* The files that the index names, each once. */
static eg_status open_listed(eg_context *context, eg__folder *f, const json_t *index,
                             eg_error *error) {
    const json_t *map = json_object_get(index, "weight_map");
    const char *key, *seen[EG__FOLDER_FILES_MAX];
    json_t *value;
    eg_status status = EG_OK;
    if (!json_is_object(map) || !json_object_size(map))
        return eg__fail(error, EG_ERR_FORMAT, "the index of the weights has no 'weight_map'");
    json_object_foreach((json_t *)(uintptr_t)map, key, value) {
        const char *name = json_string_value(value);
        bool known = false;
        if (!name) return eg__fail(error, EG_ERR_FORMAT, "the file of '%.80s' is no text", key);
        for (size_t i = 0; i < f->count; i++) known = known || strcmp(seen[i], name) == 0;
        if (known) continue;
        status = open_file(context, f, name, error);
        if (status) return status;
        seen[f->count - 1] = name;
    }
    return EG_OK;
}

/* Weights of other programs, when there are none that are read here. */
static eg_status refuse_weights(const eg__folder *f, eg_error *error) {
    static const struct {
        const char *name, *what, *more; /* an argument of from_pretrained */
    } kinds[] = {{"pytorch_model.bin", "PyTorch, pickled", ""},
                 {"pytorch_model.bin.index.json", "PyTorch, pickled", ""},
                 {"tf_model.h5", "TensorFlow", ", from_tf=True"},
                 {"flax_model.msgpack", "Flax", ", from_flax=True"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (eg__folder_has(f, kinds[i].name))
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "no 'model.safetensors', only '%s' (%s, not opened); in Python: "
                            "transformers.AutoModelForCausalLM.from_pretrained('IN'%s)"
                            ".save_pretrained('OUT'), AutoModel for BERT",
                            kinds[i].name, kinds[i].what, kinds[i].more);
    return EG_OK;
}

static eg_status open_files(eg_context *context, eg__folder *f, eg_error *error) {
    json_t *index;
    if (!eg__folder_has(f, "model.safetensors.index.json")) {
        const bool there = eg__folder_has(f, "model.safetensors");
        const eg_status foreign = there ? EG_OK : refuse_weights(f, error);
        return foreign ? foreign : open_file(context, f, "model.safetensors", error);
    }
    eg_status status = eg__folder_json(f, "model.safetensors.index.json", false, &index, error);
    if (status) return status;
    status = open_listed(context, f, index, error);
    json_decref(index);
    return status;
}

/* EG_ERR_NOT_FOUND: no file has it. What is there and cannot be read must not pass for that. */
static eg_status find(const eg__folder *f, const char *name, eg_tensor *out, eg_error *error) {
    eg_status status = EG_ERR_NOT_FOUND;
    for (size_t i = 0; status == EG_ERR_NOT_FOUND && i < f->count; i++)
        status = eg_safetensors_tensor(f->files[i], name, out, error);
    return status;
}

/* "dense.0.weight" is "linear.weight" in the file of the first dense layer. */
static eg_status find_dense(const eg__folder *f, const char *name, eg_tensor *out,
                            eg__hugging_name *how, eg_error *error) {
    *how = (eg__hugging_name){.turned = false};
    snprintf(how->name, sizeof how->name, "linear%s", strrchr(name, '.'));
    const eg_status status = eg_safetensors_tensor(f->dense[name[6] - '0'], how->name, out, error);
    return status == EG_ERR_NOT_FOUND
               ? eg__fail(error, EG_ERR_FORMAT, "no tensor '%s' of dense layer %c", how->name,
                          name[6])
               : status;
}

/* With and without what stands before the names: it depends on which part of a model was saved. */
static eg_status find_parameter(const eg__folder *f, const eg_model *model, const char *name,
                                eg_tensor *out, eg__hugging_name *how, eg_error *error) {
    char prefixed[sizeof how->name];
    if (strncmp(name, "dense.", 6) == 0) return find_dense(f, name, out, how, error);
    const eg__family family = model->transformer->family;
    for (unsigned way = 0; eg__hugging_name_get(family, name, way, how); way++) {
        snprintf(prefixed, sizeof prefixed, "%s%.120s", eg__hugging_prefix(family), how->name);
        eg_status status = find(f, prefixed, out, error);
        if (status == EG_ERR_NOT_FOUND) status = find(f, how->name, out, error);
        else snprintf(how->name, sizeof how->name, "%s", prefixed);
        if (status != EG_ERR_NOT_FOUND) return status;
    }
    eg__hugging_name_get(family, name, 0, how);
    return eg__fail(error, EG_ERR_FORMAT, "no tensor '%s'", how->name);
}

static eg_status place_one(eg_model *model, size_t index, const eg_tensor *from,
                           const eg__hugging_name *how, eg_error *error) {
    const uint64_t turned[] = {from->shape[1], from->shape[0]};
    eg__file_tensor tensor = {.name = how->name,
                              .rank = from->rank,
                              .shape = how->turned ? turned : from->shape,
                              .data = from->data};
    if (!eg__infile_format_of(&(eg_quantization){.type = from->type}, &tensor.format))
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "tensor '%.80s' has type %s, which is not supported", how->name,
                        eg_type_name(from->type));
    return eg__transformer_place(model, index, &tensor, error);
}

/* Conv1D has inputs by outputs: no place in the file has our rows. Memory is taken only when all shapes are
 * known to be those of the file, so that a wrong number in config.json cannot ask for more. */
static eg_status turn_all(eg_model *model, eg_error *error) {
    const eg__family family = model->transformer->family;
    eg_status status = eg__hugging_transposes(family) ? eg__model_fill(model, error) : EG_OK;
    for (size_t i = 0; !status && i < model->parameter_count; i++) {
        eg__parameter *p = &model->parameters[i];
        eg__hugging_name how;
        if (!eg__hugging_name_get(family, p->name, 0, &how) || !how.turned) continue;
        float *to = eg__parameter_values(model, p);
        const uint64_t rows = p->shape[0], columns = p->shape[1];
        for (uint64_t c = 0; c < columns; c++)
            for (uint64_t r = 0; r < rows; r++)
                to[r * columns + c] =
                    eg__infile_number(p->file.format, p->file.data, (size_t)(c * rows + r));
        p->file.data = NULL;
    }
    return status;
}

static eg_status place_all(eg_model *model, const eg__folder *f, eg_error *error) {
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg_tensor from;
        eg__hugging_name how;
        eg_status status = find_parameter(f, model, model->parameters[i].name, &from, &how, error);
        if (!status) status = place_one(model, i, &from, &how, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg__transformer_from_folder(eg_context *context, const char *path, eg_model **out,
                                      eg_error *error) {
    *out = NULL;
    eg__memory *memory = eg__context_memory(context);
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__folder *f = eg__memory_take_zeroed(memory, EG_TAG_FILE, sizeof *f, &reason);
    if (!f) return eg__fail(error, reason.status, "%s", reason.message);
    f->memory = memory;
    f->path = path;
    eg__transformer t;
    eg_model *model = NULL;
    eg__key_names unknown = {0};
    eg_status status = eg__folder_shape(f, &t, &unknown, error);
    if (!status) status = eg__folder_modules(context, f, &t, &unknown, error);
    if (!status) status = open_files(context, f, error);
    eg_tensor head;
    if (!status && eg__hugging_head(t.family))
        t.tied = t.tied || find(f, eg__hugging_head(t.family), &head, NULL) == EG_ERR_NOT_FOUND;
    if (!status) status = eg__transformer_new(context, &t, &model, error);
    if (!status) status = place_all(model, f, error);
    if (!status) status = turn_all(model, error);
    if (!status) {
        eg__key_warn(context, &unknown, path);
        f->path = NULL; /* the caller's */
        model->file = f;
        model->close = close_folder;
        *out = model;
        return EG_OK;
    }
    eg_model_destroy(model);
    close_folder(f);
    return eg__file_blame(error, status, "", path);
}
