/* Models in files: safetensors with the architecture in the metadata, and what ncps users have. */
#include "formats/models/model_config.h"
#include "formats/files/file.h"
#include "formats/files/safetensors.h"
#include "formats/models/readers.h"

#include <float.h>
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

/* The smallest numbers take half a byte; an archive may be compressed. */
static uint64_t most_numbers(const tensor_source *from, const char *path) {
    struct stat info;
    return from->file && stat(path, &info) == 0 ? 2 * (uint64_t)info.st_size : UINT64_MAX;
}

static void close_tensors(tensor_source *from) {
    eg_safetensors_close(from->file);
    eg_npz_close(from->archive);
}

static const char *name_of(const tensor_source *from, size_t index) {
    if (from->archive) return eg_npz_name(from->archive, index);
    return index < eg_safetensors_count(from->file) ? eg_safetensors_name(from->file, index) : NULL;
}

/* Finds a common prefix of the parameters' names ("param.", "model.", "rnn." in some files), unless
 * it indicates a part of a larger model, or a gradient. */
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

/* Floats of a safetensors file are used in place. */
static eg_status take_tensor(eg_model *model, const tensor_source *from, eg__parameter *p,
                             const char *name, const eg_tensor *tensor, eg_error *error) {
    const bool same = tensor->rank == p->rank && tensor->shape[0] == p->shape[0] &&
                      (p->rank < 2 || tensor->shape[1] == p->shape[1]);
    if (!same)
        return eg__fail(error, EG_ERR_FORMAT, "the shape of '%s' differs from the architecture",
                        name);
    if (from->file && tensor->type == EG_F32) {
        p->view = tensor->data;
        return EG_OK;
    }
    eg_status status = eg__parameter_own(model, p, error);
    if (status) return status;
    eg_tensor to = *tensor;
    to.type = EG_F32;
    to.data = eg__parameter_values(model, p);
    if (tensor->type != EG_F32) return eg_tensor_convert(model->context, tensor, &to, error);
    memcpy(to.data, tensor->data, eg__parameter_size(p) * sizeof(float));
    return EG_OK;
}

/* ---- quantized numbers: NAME, NAME.scale and NAME.zero. int4 is a list of bytes, two numbers to each. */
static eg_status take_bytes(const tensor_source *from, const char *name, eg_type type,
                            uint64_t count, void **to, eg_error *error) {
    eg_tensor tensor;
    uint64_t elements = 0, bytes = 0;
    eg_status status = eg_safetensors_tensor(from->file, name, &tensor, error);
    if (!status) status = eg_tensor_measure(&tensor, &elements, &bytes, error);
    if (status) return status;
    if (tensor.type != type || elements != count)
        return eg__fail(error, EG_ERR_FORMAT,
                        "'%.100s' is %llu of %s, its quantization says %llu of %s", name,
                        (unsigned long long)elements, eg_type_name(tensor.type),
                        (unsigned long long)count, eg_type_name(type));
    *to = tensor.data;
    return EG_OK;
}

/* Tensors that must exist if the values do. */
static eg_status take_part(const tensor_source *from, const char *name, eg_type type,
                           uint64_t count, void **to, eg_error *error) {
    eg_status status = take_bytes(from, name, type, count, to, error);
    return status == EG_ERR_NOT_FOUND ? eg__fail(error, EG_ERR_FORMAT, "no tensor '%.150s'", name)
                                      : status;
}

static eg_status check_scales(const eg_quantized *q, const char *name, eg_error *error) {
    const int low = q->quantization.type == EG_I4 ? -8 : -128,
              high = q->quantization.type == EG_I4 ? 7 : 127;
    for (uint64_t i = 0; i < q->scales; i++) {
        if (!(q->scale[i] >= 0) || q->scale[i] > FLT_MAX)
            return eg__fail(error, EG_ERR_FORMAT,
                            "'%.100s' has a scale of %g, needs a finite number >= 0", name,
                            (double)q->scale[i]);
        if (q->zero && (q->zero[i] < low || q->zero[i] > high))
            return eg__fail(error, EG_ERR_FORMAT, "'%.100s' has a zero point of %d", name,
                            q->zero[i]);
    }
    return EG_OK;
}

/* They are used in place. */
static eg_status take_small(eg_model *model, const tensor_source *from, eg__parameter *p,
                            const char *name, eg_error *error) {
    eg_quantized q = p->quantized;
    void *values = NULL, *scale = NULL, *zero = NULL;
    char other[72 + EG__NAME_MAX];
    uint64_t elements = 0, bytes = 0;
    if (!from->file)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "quantized weights in an .npz are not supported");
    eg_status status = eg_tensor_measure(&q.values, &elements, &bytes, error);
    const bool packed = q.quantization.type == EG_I4;
    if (!status)
        status = take_bytes(from, name, packed ? EG_U8 : q.quantization.type,
                            packed ? bytes : elements, &values, error);
    snprintf(other, sizeof other, "%s.scale", name);
    if (!status && q.scales) status = take_part(from, other, EG_F32, q.scales, &scale, error);
    snprintf(other, sizeof other, "%s.zero", name);
    if (!status && q.scales && !q.quantization.symmetric)
        status = take_part(from, other, EG_I8, q.scales, &zero, error);
    if (status) return status;
    q.values.data = values;
    q.scale = scale;
    q.zero = zero;
    status = check_scales(&q, name, error);
    if (status) return status;
    eg__parameter_quantized_drop(model, p);
    p->quantized = q;
    p->borrowed = true;
    return EG_OK;
}

static eg_status take_one(eg_model *model, const tensor_source *from, eg__parameter *p,
                          const char *name, eg_error *error) {
    eg_tensor tensor;
    if (eg__parameter_is_quantized(p)) return take_small(model, from, p, name, error);
    eg_status status = from->archive ? eg_npz_read(from->archive, name, &tensor, error)
                                     : eg_safetensors_tensor(from->file, name, &tensor, error);
    if (status) return status;
    status = take_tensor(model, from, p, name, &tensor, error);
    if (from->archive) eg_tensor_release(from->context, &tensor);
    return status;
}

/* Whether a tensor of a file is one of the model: its values, or a part of its quantized numbers. The search
 * begins at *from: most files have the order of the model. */
static bool is_used(const eg_model *model, const char *name, size_t *from) {
    const char *end = strrchr(name, '.');
    const bool part = end && (strcmp(end, ".scale") == 0 || strcmp(end, ".zero") == 0);
    for (size_t i = 0; i < model->parameter_count; i++) {
        const size_t index = (*from + i) % model->parameter_count;
        const eg__parameter *p = &model->parameters[index];
        const size_t length = strlen(p->name);
        if (strcmp(p->name, name) != 0 &&
            !(part && eg__parameter_is_quantized(p) && length == (size_t)(end - name) &&
              strncmp(p->name, name, length) == 0))
            continue;
        *from = index;
        return true;
    }
    return false;
}

/* Tensors of a state-dict that contradict the architecture: an LSTM without mixed_memory, a
 * backbone that was not given. Tensors with other names are ignored. */
static eg_status check_unused(const eg_model *model, const tensor_source *from, const char *prefix,
                              eg_error *error) {
    static const char *const parts[] = {"rnn_cell.", "lstm.", "fc.", "layers.", "blk."};
    const char *name, *first = NULL;
    size_t count = 0, at = 0;
    for (size_t i = 0; (name = name_of(from, i)); i++) {
        bool part = false;
        if (strncmp(name, prefix, strlen(prefix)) != 0) continue;
        name += strlen(prefix);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            part = part || strncmp(name, parts[k], strlen(parts[k])) == 0;
        if (!part || is_used(model, name, &at)) continue;
        if (!count++) first = name;
    }
    if (!count) return EG_OK;
    char more[40] = "";
    if (count > 1) snprintf(more, sizeof more, " and %zu more", count - 1);
    return eg__fail(error, EG_ERR_FORMAT, "the architecture has no use for '%.100s'%s", first,
                    more);
}

static eg_status take_values(eg_model *model, const tensor_source *from, const char *path,
                             eg_error *error) {
    char prefix[64], missing[160] = "";
    size_t lacking = 0, named = 0, used = 0;
    find_prefix(from, model, prefix);
    for (size_t i = 0; i < model->parameter_count; i++) {
        eg__parameter *p = &model->parameters[i];
        char name[64 + EG__NAME_MAX];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        eg_error reason;
        eg_status status = take_one(model, from, p, name, &reason);
        if (status == EG_ERR_NOT_FOUND && p->is_mask) continue; /* it follows from the wiring */
        if (status && status != EG_ERR_NOT_FOUND)
            return eg__fail(error, status, "%s", reason.message);
        if (!status) continue;
        lacking++;
        if (used + strlen(name) + 25 > sizeof missing && named) continue; /* " and 20 more" fits */
        used += (size_t)snprintf(missing + used, sizeof missing - used, "%s'%.120s'",
                                 named++ ? ", " : "", name);
    }
    if (!lacking) {
        eg_status status = check_unused(model, from, prefix, error);
        if (!status) status = eg__model_masks_settle(model, error);
        return status ? eg__file_blame(error, status, "", path) : EG_OK;
    }
    if (lacking > named)
        snprintf(missing + used, sizeof missing - used, " and %zu more", lacking - named);
    eg__fail(error, EG_ERR_NOT_FOUND, "no tensor %s", missing);
    return eg__file_blame(error, EG_ERR_NOT_FOUND, "", path);
}

/* ---- the file stays open: parameters stay in it until they are written */
static void close_backing(void *backing) { eg_safetensors_close(backing); }
static void copy_backing(void *backing, const void *bytes, size_t size, void *to) {
    const eg_safetensors *file = backing;
    eg__mapping_copy(&file->mapping, bytes, size, to);
}

static eg_status keep_file(eg_model *model, tensor_source *from, eg_error *error) {
    if (!eg__mapping_own(&from->file->mapping))
        return eg__fail(error, EG_ERR_MEMORY, "no memory for a writable mapping");
    model->backing = from->file;
    model->backing_close = close_backing;
    model->backing_copy = copy_backing;
    from->file = NULL;
    /* masks, scales and zero points were read to be checked, and nothing is written yet */
    const eg_safetensors *file = model->backing;
    eg__mapping_forget(&file->mapping, file->mapping.bytes, file->mapping.size);
    return EG_OK;
}

/* Closes the source, or leaves it to the model. */
static eg_status load(tensor_source *from, const char *path, const char *config, eg_model **out,
                      eg_error *error) {
    const char *text = config;
    if (!text && from->file) text = eg_safetensors_metadata(from->file, "elegans");
    if (!text && from->file) text = eg_safetensors_metadata(from->file, "config");
    eg_model *model = NULL;
    eg_status status;
    if (!text)
        status = eg__fail(error, EG_ERR_FORMAT,
                          "'%.150s' has no architecture in its metadata: give a config", path);
    else
        status = eg__model_config_read(from->context, text, strlen(text), most_numbers(from, path),
                                       &model, error);
    if (status && text && !config) eg__file_blame(error, status, "", path); /* it says so itself */
    if (!status) status = take_values(model, from, path, error);
    if (!status && from->file) status = keep_file(model, from, error);
    close_tensors(from);
    if (status) eg_model_destroy(model);
    else *out = model;
    return status;
}

eg_status eg__model_from_safetensors(eg_context *context, const char *path, const char *config,
                                     eg_model **out, eg_error *error) {
    tensor_source from = {.context = context};
    *out = NULL;
    eg_status status = eg_safetensors_open(context, path, &from.file, error);
    return status ? status : load(&from, path, config, out, error);
}

eg_status eg__model_from_npz(eg_context *context, const char *path, const char *config,
                             eg_model **out, eg_error *error) {
    tensor_source from = {.context = context};
    *out = NULL;
    eg_status status = eg_npz_open(context, path, &from.archive, error);
    return status ? status : load(&from, path, config, out, error);
}

/* ---- writing */
typedef struct tensor_list {
    size_t count;
    unsigned bits; /* tensors whose elements have another size are left out */
    const char **names;
    eg_tensor *tensors;
    char (*made)[8 + EG__NAME_MAX]; /* names that are not the model's own */
} tensor_list;

static void add_tensor(tensor_list *list, const char *name, const char *suffix,
                       const eg_tensor *tensor) {
    if (eg_type_bits(tensor->type) != list->bits) return;
    char *made = list->made[list->count];
    snprintf(made, sizeof *list->made, "%s%s", name, suffix);
    list->names[list->count] = made;
    list->tensors[list->count++] = *tensor;
}

static void add_small(tensor_list *list, const eg__parameter *p) {
    const eg_quantized *q = &p->quantized;
    eg_tensor values = q->values;
    uint64_t bytes = 0;
    eg_tensor_measure(&values, NULL, &bytes, NULL);
    if (values.type == EG_I4) values = (eg_tensor){EG_U8, 1, {bytes}, values.data};
    const unsigned rank = q->quantization.per == EG_PER_BLOCK ? 2 : 1;
    const eg_tensor scale = {EG_F32, rank, {rank == 2 ? q->rows : q->scales, q->groups}, q->scale};
    eg_tensor zero = scale;
    zero.type = EG_I8;
    zero.data = q->zero;
    add_tensor(list, p->name, "", &values);
    if (q->scale) add_tensor(list, p->name, ".scale", &scale);
    if (q->zero) add_tensor(list, p->name, ".zero", &zero);
}

/* A quantized file leaves out the masks that follow from a wiring: they would be most of it. */
static eg_status list_sized(const eg_model *model, bool quantized, tensor_list *list,
                            eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < model->parameter_count; i++) {
        const eg__parameter *p = &model->parameters[i];
        eg_tensor values = {EG_F32, p->rank, {p->shape[0], p->shape[1]}, NULL};
        if (eg__parameter_is_quantized(p)) add_small(list, p);
        else if (!quantized || !p->is_mask || !model->layers[p->layer].wiring) {
            status = eg__parameter_own(model, p, error);
            values.data = eg__parameter_values(model, p);
            add_tensor(list, p->name, "", &values);
        }
    }
    return status;
}

/* Large elements first, as the safetensors package does: then all are aligned, and are read where they lie. */
static eg_status list_tensors(const eg_model *model, tensor_list *list, eg_error *error) {
    bool quantized = false;
    eg_status status = EG_OK;
    for (size_t i = 0; i < model->parameter_count; i++)
        quantized = quantized || eg__parameter_is_quantized(&model->parameters[i]);
    for (list->bits = 32; list->bits >= 8 && !status; list->bits /= 2)
        status = list_sized(model, quantized, list, error);
    return status;
}

eg_status eg_model_save(const eg_model *model, const char *path, eg_error *error) {
    if (!model || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no model or no path");
    if (model->close)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "the weights are in a file: call eg_model_widen first");
    char *config;
    eg_status status = eg__model_check_values(model, error);
    if (!status) status = eg__model_config_write(model, &config, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    const size_t room = 3 * model->parameter_count + 1;
    tensor_list list = {0};
    list.names =
        eg__memory_take_array(model->memory, EG_TAG_FILE, room, sizeof *list.names, &reason);
    list.tensors =
        eg__memory_take_array(model->memory, EG_TAG_FILE, room, sizeof *list.tensors, &reason);
    list.made = eg__memory_take_array(model->memory, EG_TAG_FILE, room, sizeof *list.made, &reason);
    if (list.names && list.tensors && list.made) {
        const eg_pair metadata[] = {{"elegans", config}, {"format", "pt"}};
        status = list_tensors(model, &list, error);
        if (!status)
            status = eg__safetensors_save(model->memory, path, list.count, list.names, list.tensors,
                                          2, metadata, error);
    } else status = eg__fail(error, reason.status, "%s", reason.message);
    eg__memory_give(model->memory, (void *)list.names);
    eg__memory_give(model->memory, list.tensors);
    eg__memory_give(model->memory, list.made);
    eg__memory_give(model->memory, config);
    return status;
}
