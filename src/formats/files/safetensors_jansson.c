/* The header of .safetensors: JSON of one exact shape, every entry sound by itself. */
#include "formats/files/json_read.h"
#include "formats/files/safetensors.h"

#include <stdio.h>
#include <string.h>

static const char metadata_key[] = "__metadata__";

/* jansson has a const getter for everything but the walk through an object. */
#define EACH(object, iterator)                                                       \
    for (void *iterator = json_object_iter((json_t *)(uintptr_t)(object)); iterator; \
         iterator = json_object_iter_next((json_t *)(uintptr_t)(object), iterator))

static eg_status refuse(const eg__safetensor *tensor, eg_status status, const char *what,
                        eg_error *error) {
    char shown[64];
    return eg__fail(error, status, "%s in tensor '%s'", what,
                    eg__file_quote(shown, sizeof shown, tensor->name, strlen(tensor->name)));
}

static eg_status bad(const eg__safetensor *tensor, const char *what, eg_error *error) {
    return refuse(tensor, EG_ERR_FORMAT, what, error);
}

/* `text` with its terminator, behind what *at points to. */
static const char *copy_text(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static bool read_count(const json_t *value, uint64_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static eg_status read_dtype(const json_t *value, eg__safetensor *tensor, eg_error *error) {
    const char *name = json_string_value(value);
    if (!name) return bad(tensor, "no dtype", error);
    tensor->dtype = eg__safetensors_dtype_find(name);
    if (tensor->dtype) return EG_OK;
    char what[64], shown[32];
    snprintf(what, sizeof what, "unknown dtype '%s'",
             eg__file_quote(shown, sizeof shown, name, strlen(name)));
    return bad(tensor, what, error);
}

/* As in eg_tensor_measure, the extents must fit without those that are 0, so that strides do too. */
static eg_status read_shape(const json_t *list, eg__safetensor *tensor, eg_error *error) {
    if (!json_is_array(list)) return bad(tensor, "no shape", error);
    if (json_array_size(list) > EG__SAFETENSORS_RANK_MAX)
        return refuse(tensor, EG_ERR_UNSUPPORTED, "more than 64 extents", error);
    tensor->rank = (unsigned)json_array_size(list);
    unsigned bits = tensor->dtype->bits;
    bool packed = bits % 8 != 0, empty = false, fits = true;
    uint64_t size = packed ? bits : bits / 8;
    for (unsigned i = 0; i < tensor->rank; i++) {
        uint64_t extent;
        if (!read_count(json_array_get(list, i), &extent))
            return bad(tensor, "shape with something else than counts", error);
        if (i < EG_RANK_MAX) tensor->shape[i] = extent;
        if (extent == 0) empty = true;
        else if (__builtin_mul_overflow(size, extent, &size)) fits = false;
    }
    if (!fits || size > INT64_MAX)
        return refuse(tensor, EG_ERR_OVERFLOW, "a size beyond 63 bits", error);
    if (empty) size = 0;
    if (packed && size % 8)
        return bad(tensor, "elements that fill no whole number of bytes", error);
    tensor->end = packed ? size / 8 : size; /* until the offsets are known */
    return EG_OK;
}

static eg_status read_tensor(const json_t *entry, eg__safetensor *tensor, eg_error *error) {
    if (!json_is_object(entry)) return bad(tensor, "no object as entry", error);
    eg_status status = read_dtype(json_object_get(entry, "dtype"), tensor, error);
    if (status) return status;
    status = read_shape(json_object_get(entry, "shape"), tensor, error);
    if (status) return status;
    uint64_t size = tensor->end;
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !read_count(json_array_get(offsets, 0), &tensor->begin) ||
        !read_count(json_array_get(offsets, 1), &tensor->end))
        return bad(tensor, "no two data_offsets", error);
    if (json_object_size(entry) != 3) return bad(tensor, "more than three fields", error);
    if (tensor->end < tensor->begin) return bad(tensor, "data_offsets in reverse", error);
    if (tensor->end - tensor->begin == size) return EG_OK;
    char what[100];
    snprintf(what, sizeof what, "data of '%llu' bytes instead of %llu",
             (unsigned long long)(tensor->end - tensor->begin), (unsigned long long)size);
    return bad(tensor, what, error);
}

/* Counts what the lists must hold; texts with their terminators. */
static eg_status measure(const json_t *header, eg_safetensors *file, size_t *letters,
                         eg_error *error) {
    const json_t *metadata = json_object_get(header, metadata_key);
    if (metadata && !json_is_object(metadata))
        return eg__fail(error, EG_ERR_FORMAT, "'%s' is no object", metadata_key);
    file->count = json_object_size(header) - (metadata ? 1 : 0);
    file->metadata_count = json_object_size(metadata);
    EACH(header, at) *letters += strlen(json_object_iter_key(at)) + 1;
    EACH(metadata, at) {
        const char *key = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        char shown[64];
        if (!json_is_string(value))
            return eg__fail(error, EG_ERR_FORMAT, "'%s' of '%s' is no text",
                            eg__file_quote(shown, sizeof shown, key, strlen(key)), metadata_key);
        *letters += strlen(key) + 1 + json_string_length(value) + 1;
    }
    return EG_OK;
}

static eg_status take_lists(eg_safetensors *file, size_t letters, eg_error *error) {
    eg__memory *memory = file->memory;
    eg_error own;
    if (!error) error = &own;
    file->tensors =
        eg__memory_take_array(memory, EG_TAG_FILE, file->count, sizeof *file->tensors, error);
    if (file->tensors)
        file->sorted =
            eg__memory_take_array(memory, EG_TAG_FILE, file->count, sizeof *file->sorted, error);
    if (file->sorted)
        file->metadata = eg__memory_take_array(memory, EG_TAG_FILE, file->metadata_count,
                                               sizeof *file->metadata, error);
    if (file->metadata) file->texts = eg__memory_take(memory, EG_TAG_FILE, letters, error);
    return file->texts ? EG_OK : error->status;
}

static eg_status fill_lists(eg_safetensors *file, const json_t *header, eg_error *error) {
    char *text = file->texts;
    size_t index = 0;
    EACH(json_object_get(header, metadata_key), at) {
        eg_pair *pair = &file->metadata[index++];
        pair->key = copy_text(&text, json_object_iter_key(at));
        pair->value = copy_text(&text, json_string_value(json_object_iter_value(at)));
    }
    index = 0;
    EACH(header, at) {
        const char *name = json_object_iter_key(at);
        if (strcmp(name, metadata_key) == 0) continue;
        eg__safetensor *tensor = &file->tensors[index++];
        tensor->name = copy_text(&text, name);
        eg_status status = read_tensor(json_object_iter_value(at), tensor, error);
        if (status) return status;
    }
    return EG_OK;
}

eg_status eg__safetensors_header(eg_safetensors *file, const char *text, size_t length,
                                 eg_error *error) {
    json_t *header;
    eg_status status = eg__json_read(file->memory, text, length, &header, error);
    if (status) return eg__file_blame(error, status, "the", "header");
    size_t letters = 0;
    if (!json_is_object(header)) status = eg__fail(error, EG_ERR_FORMAT, "header is no object");
    if (!status) status = measure(header, file, &letters, error);
    if (!status) status = take_lists(file, letters, error);
    if (!status) status = fill_lists(file, header, error);
    json_decref(header);
    return status;
}
