/* Transformers from folders of Hugging Face: config.json, and safetensors in one file or several. */
#include "formats/transformer.h"
#include "formats/transformer_names.h"
#include "formats/safetensors.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 512, CONFIG_MAX = 1 << 24 };

typedef struct folder {
    eg__memory *memory;
    const char *path;
    eg_safetensors *files[FILES_MAX];
    size_t count;
} folder;

static void close_folder(void *file) {
    folder *f = file;
    for (size_t i = 0; i < f->count; i++) eg_safetensors_close(f->files[i]);
    eg__memory_give(f->memory, f);
}

/* ---- JSON */
static eg_status join(const folder *f, const char *name, char out[EG__PATH_SIZE], eg_error *error) {
    const int n = snprintf(out, EG__PATH_SIZE, "%s/%s", f->path, name);
    return n > 0 && n < EG__PATH_SIZE
               ? EG_OK
               : eg__fail(error, EG_ERR_ARGUMENT, "the path of '%.60s' is too long", name);
}

static eg_status read_json(const folder *f, const char *name, json_t **out, eg_error *error) {
    char path[EG__PATH_SIZE];
    void *bytes;
    size_t length;
    *out = NULL;
    eg_status status = join(f, name, path, error);
    if (!status) status = eg__file_read(f->memory, path, CONFIG_MAX, &bytes, &length, error);
    if (status) return status;
    json_error_t problem;
    *out = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &problem);
    eg__memory_give(f->memory, bytes);
    if (*out && json_is_object(*out)) return EG_OK;
    status = eg__fail(error, EG_ERR_FORMAT, "'%s': %s (line %d)", name,
                      *out ? "not an object" : problem.text, *out ? 1 : problem.line);
    json_decref(*out);
    *out = NULL;
    return status;
}

typedef struct reader {
    const json_t *object;
    eg_status status;
    eg_error *error;
} reader;

static const json_t *get(const reader *r, const char *key) {
    const json_t *value = json_object_get(r->object, key);
    return json_is_null(value) ? NULL : value;
}
static uint32_t count_or(reader *r, const char *key, uint32_t otherwise) {
    const json_t *value = get(r, key);
    if (!value) return otherwise;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= 0 && number <= UINT32_MAX) return (uint32_t)number;
    if (!r->status) r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' is not a count", key);
    return otherwise;
}
static uint32_t count(reader *r, const char *key) {
    if (!get(r, key) && !r->status)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "config.json has no '%s'", key);
    return count_or(r, key, 0);
}
static double number_or(reader *r, const char *key, double otherwise) {
    const json_t *value = get(r, key);
    if (value && !json_is_number(value) && !r->status)
        r->status = eg__fail(r->error, EG_ERR_FORMAT, "'%s' is not a number", key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}
static const char *text_or(const reader *r, const char *key, const char *otherwise) {
    const char *text = json_string_value(get(r, key));
    return text ? text : otherwise;
}

/* ---- architectures */
static void refuse(reader *r, const char *key, const char *value) {
    if (!r->status)
        r->status =
            eg__fail(r->error, EG_ERR_UNSUPPORTED, "'%s' of '%.60s' is not known here", key, value);
}

/* Frequencies that are changed for longer texts are not known; new files say the base among them. */
static void read_rotary(reader *r, eg__transformer *t) {
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    t->rope_base = number_or(r, "rope_theta", 10000);
    for (unsigned i = 0; i < 2; i++) {
        reader inner = {get(r, keys[i]), r->status, r->error};
        if (!inner.object) continue;
        const char *type = text_or(&inner, "rope_type", text_or(&inner, "type", "default"));
        if (strcmp(type, "default") != 0) refuse(&inner, keys[i], type);
        t->rope_base = number_or(&inner, "rope_theta", t->rope_base);
        r->status = inner.status;
    }
    if (number_or(r, "partial_rotary_factor", 1) != 1)
        refuse(r, "partial_rotary_factor", "less than all columns");
}

static void read_llama(reader *r, eg__transformer *t) {
    t->width = count(r, "hidden_size");
    t->hidden = count(r, "intermediate_size");
    t->layers = count(r, "num_hidden_layers");
    t->heads = count(r, "num_attention_heads");
    t->kv_heads = count_or(r, "num_key_value_heads", t->heads);
    t->head = count_or(r, "head_dim", t->heads ? t->width / t->heads : 0);
    t->vocabulary = count(r, "vocab_size");
    t->context = count_or(r, "max_position_embeddings", 2048);
    t->epsilon = number_or(r, "rms_norm_eps", 1e-6);
    t->window = count_or(r, "sliding_window", 0);
    t->tied = json_is_true(get(r, "tie_word_embeddings"));
    read_rotary(r, t);
    if (json_is_true(get(r, "attention_bias"))) refuse(r, "attention_bias", "true");
    if (json_is_true(get(r, "mlp_bias"))) refuse(r, "mlp_bias", "true");
    const char *act = text_or(r, "hidden_act", "silu");
    if (strcmp(act, "silu") != 0) refuse(r, "hidden_act", act);
}

static void read_gelu(reader *r, eg__transformer *t, const char *key, const char *otherwise) {
    const char *act = text_or(r, key, otherwise);
    t->exact_gelu = strcmp(act, "gelu") == 0;
    if (!t->exact_gelu && strcmp(act, "gelu_new") != 0 && strcmp(act, "gelu_pytorch_tanh") != 0)
        refuse(r, key, act);
}

static void read_gpt2(reader *r, eg__transformer *t) {
    t->width = count(r, "n_embd");
    t->hidden = count_or(r, "n_inner", 4 * t->width);
    t->layers = count(r, "n_layer");
    t->heads = t->kv_heads = count(r, "n_head");
    t->head = t->heads ? t->width / t->heads : 0;
    t->vocabulary = count(r, "vocab_size");
    t->context = count(r, "n_positions");
    t->epsilon = number_or(r, "layer_norm_epsilon", 1e-5);
    const json_t *tied = get(r, "tie_word_embeddings");
    t->tied = !tied || json_is_true(tied);
    read_gelu(r, t, "activation_function", "gelu_new");
}

static void read_bert(reader *r, eg__transformer *t) {
    t->width = count(r, "hidden_size");
    t->hidden = count(r, "intermediate_size");
    t->layers = count(r, "num_hidden_layers");
    t->heads = t->kv_heads = count(r, "num_attention_heads");
    t->head = t->heads ? t->width / t->heads : 0;
    t->vocabulary = count(r, "vocab_size");
    t->context = count(r, "max_position_embeddings");
    t->types = count_or(r, "type_vocab_size", 2);
    t->epsilon = number_or(r, "layer_norm_eps", 1e-12);
    const char *kind = text_or(r, "position_embedding_type", "absolute");
    if (strcmp(kind, "absolute") != 0) refuse(r, "position_embedding_type", kind);
    read_gelu(r, t, "hidden_act", "gelu");
}

static eg_status read_shape(const folder *f, eg__transformer *t, eg_error *error) {
    json_t *config;
    eg_status status = read_json(f, "config.json", &config, error);
    if (status) return status;
    reader r = {.object = config, .error = error};
    const char *type = text_or(&r, "model_type", "");
    *t = (eg__transformer){0};
    if (strcmp(type, "llama") == 0 || strcmp(type, "mistral") == 0) {
        t->family = EG__LLAMA;
        read_llama(&r, t);
    } else if (strcmp(type, "gpt2") == 0) {
        t->family = EG__GPT2;
        read_gpt2(&r, t);
    } else if (strcmp(type, "bert") == 0) {
        t->family = EG__BERT;
        read_bert(&r, t);
    } else refuse(&r, "model_type", type);
    json_decref(config);
    return r.status;
}

/* ---- tensors */
static eg_status open_file(eg_context *context, folder *f, const char *name, eg_error *error) {
    char path[EG__PATH_SIZE];
    if (f->count == FILES_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d files of weights", FILES_MAX);
    if (strchr(name, '/'))
        return eg__fail(error, EG_ERR_FORMAT, "weights in '%.80s', outside of the folder", name);
    eg_status status = join(f, name, path, error);
    if (!status) status = eg_safetensors_open(context, path, &f->files[f->count], error);
    if (!status) f->count++;
    return status;
}

/* The files that the index names, each once. */
static eg_status open_listed(eg_context *context, folder *f, const json_t *index, eg_error *error) {
    const json_t *map = json_object_get(index, "weight_map");
    const char *key, *seen[FILES_MAX];
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

static eg_status open_files(eg_context *context, folder *f, eg_error *error) {
    char path[EG__PATH_SIZE];
    struct stat info;
    json_t *index;
    eg_status status = join(f, "model.safetensors.index.json", path, error);
    if (status) return status;
    if (stat(path, &info) != 0) return open_file(context, f, "model.safetensors", error);
    status = read_json(f, "model.safetensors.index.json", &index, error);
    if (status) return status;
    status = open_listed(context, f, index, error);
    json_decref(index);
    return status;
}

/* EG_ERR_NOT_FOUND: no file has it. What is there and cannot be read must not pass for that. */
static eg_status find(const folder *f, const char *name, eg_tensor *out, eg_error *error) {
    eg_status status = EG_ERR_NOT_FOUND;
    for (size_t i = 0; status == EG_ERR_NOT_FOUND && i < f->count; i++)
        status = eg_safetensors_tensor(f->files[i], name, out, error);
    return status;
}

/* With and without what stands before the names: it depends on which part of a model was saved. */
static eg_status find_parameter(const folder *f, const eg_model *model, const char *name,
                                eg_tensor *out, eg__hugging_name *how, eg_error *error) {
    char prefixed[sizeof how->name];
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
                              .type = from->type,
                              .rank = from->rank,
                              .shape = how->turned ? turned : from->shape,
                              .data = from->data};
    if (from->type != EG_F32 && from->type != EG_F16 && from->type != EG_BF16)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "tensor '%.80s' of type %s", how->name,
                        eg_type_name(from->type));
    return eg__transformer_place(model, index, &tensor, error);
}

/* Conv1D has inputs by outputs: no place in the file has our rows. Memory is taken only when all shapes are
 * known to be those of the file, so that a wrong number in config.json cannot ask for more. */
static eg_status turn_all(eg_model *model, eg_error *error) {
    const eg__family family = model->transformer->family;
    eg_status status = family == EG__GPT2 ? eg__transformer_fill(model, error) : EG_OK;
    for (size_t i = 0; !status && i < model->parameter_count; i++) {
        eg__parameter *p = &model->parameters[i];
        eg__hugging_name how;
        if (!eg__hugging_name_get(family, p->name, 0, &how) || !how.turned) continue;
        float *to = eg__parameter_values(model, p);
        const uint64_t rows = p->shape[0], columns = p->shape[1];
        for (uint64_t c = 0; c < columns; c++)
            for (uint64_t r = 0; r < rows; r++)
                to[r * columns + c] =
                    eg__stored_number(p->file.type, p->file.data, (size_t)(c * rows + r));
        p->file.data = NULL;
    }
    return status;
}

static eg_status place_all(eg_model *model, const folder *f, eg_error *error) {
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
    folder *f = eg__memory_take_zeroed(memory, EG_TAG_FILE, sizeof *f, &reason);
    if (!f) return eg__fail(error, reason.status, "%s", reason.message);
    f->memory = memory;
    f->path = path;
    eg__transformer t;
    eg_model *model = NULL;
    eg_status status = read_shape(f, &t, error);
    if (!status) status = open_files(context, f, error);
    eg_tensor head;
    if (!status && t.family == EG__LLAMA)
        t.tied = t.tied || find(f, "lm_head.weight", &head, NULL) == EG_ERR_NOT_FOUND;
    if (!status) status = eg__transformer_new(context, &t, &model, error);
    if (!status) status = place_all(model, f, error);
    if (!status) status = turn_all(model, error);
    if (!status) {
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
