/* Writes .safetensors, the same bytes as the safetensors package for the same order. */
#include "formats/files/bytes.h"
#include "formats/files/json.h"
#include "formats/files/safetensors.h"
#include "formats/files/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_SIZE = 8, PADDING = 8 };

/* What is to be written. */
typedef struct content {
    size_t count, metadata_count;
    const char *const *names;
    const eg_tensor *tensors;
    const eg_pair *metadata;
} content;

static void put_metadata(eg__json *json, const content *what) {
    eg__json_open_object(json, "__metadata__");
    for (size_t i = 0; i < what->metadata_count; i++)
        eg__json_put_text(json, what->metadata[i].key, what->metadata[i].value);
    eg__json_close(json);
}

static void put_tensor(eg__json *json, const char *name, const eg_tensor *tensor, uint64_t begin,
                       uint64_t end) {
    eg__json_open_object(json, name);
    eg__json_put_text(json, "dtype", eg__safetensors_dtype_of(tensor->type)->name);
    eg__json_open_list(json, "shape");
    for (unsigned i = 0; i < tensor->rank; i++) eg__json_put_count(json, NULL, tensor->shape[i]);
    eg__json_close(json);
    eg__json_open_list(json, "data_offsets");
    eg__json_put_count(json, NULL, begin);
    eg__json_put_count(json, NULL, end);
    eg__json_close(json);
    eg__json_close(json);
}

/* Everything was measured before, so that nothing can fail here. */
static uint64_t bytes_of(const eg_tensor *tensor) {
    uint64_t bytes = 0;
    (void)eg_tensor_measure(tensor, NULL, &bytes, NULL);
    return bytes;
}

static void put_header(eg__json *json, const content *what) {
    uint64_t offset = 0;
    eg__json_open_object(json, NULL);
    if (what->metadata_count) put_metadata(json, what);
    for (size_t i = 0; i < what->count; i++) {
        const uint64_t end = offset + bytes_of(&what->tensors[i]);
        put_tensor(json, what->names[i], &what->tensors[i], offset, end);
        offset = end;
    }
    eg__json_close(json);
}

/* ---- what can be wrong is found before a file is begun */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static eg_status check_unique(const char **sorted, size_t count, const char *what,
                              eg_error *error) {
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return eg__fail(error, EG_ERR_ARGUMENT, "two %s are called '%.60s'", what, sorted[i]);
    return EG_OK;
}

static eg_status check_tensor(const char *name, const eg_tensor *tensor, size_t index,
                              uint64_t *total, eg_error *error) {
    if (!name || !name[0])
        return eg__fail(error, EG_ERR_ARGUMENT, "tensor '%zu' has no name", index);
    if (!eg__utf8_valid(name))
        return eg__fail(error, EG_ERR_ARGUMENT, "name of tensor '%zu' is not UTF-8", index);
    if (strcmp(name, "__metadata__") == 0)
        return eg__fail(error, EG_ERR_ARGUMENT, "tensor '%zu' is called '%s'", index, name);
    uint64_t bytes;
    eg_status status = eg_tensor_measure(tensor, NULL, &bytes, error);
    if (status) return eg__file_blame(error, status, "tensor", name);
    if (!eg__safetensors_dtype_of(tensor->type))
        return eg__fail(error, EG_ERR_UNSUPPORTED, "no dtype for '%s' in tensor '%.60s'",
                        eg_type_name(tensor->type), name);
    if (bytes && !tensor->data)
        return eg__fail(error, EG_ERR_ARGUMENT, "no data in tensor '%.60s'", name);
    if (__builtin_add_overflow(*total, bytes, total) || *total > INT64_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "tensors of a size beyond 63 bits");
    return EG_OK;
}

static eg_status check_pair(const eg_pair *pair, size_t index, eg_error *error) {
    if (!pair->key || !pair->value)
        return eg__fail(error, EG_ERR_ARGUMENT, "pair '%zu' has no key or no value", index);
    if (!eg__utf8_valid(pair->key) || !eg__utf8_valid(pair->value))
        return eg__fail(error, EG_ERR_ARGUMENT, "pair '%zu' is not UTF-8", index);
    return EG_OK;
}

/* `sorted` has room for the names or for the keys, whichever are more. */
static eg_status check(const content *what, const char **sorted, eg_error *error) {
    uint64_t total = 0;
    for (size_t i = 0; i < what->count; i++) {
        eg_status status = check_tensor(what->names[i], &what->tensors[i], i, &total, error);
        if (status) return status;
        sorted[i] = what->names[i];
    }
    eg_status status = check_unique(sorted, what->count, "tensors", error);
    if (status) return status;
    for (size_t i = 0; i < what->metadata_count; i++) {
        status = check_pair(&what->metadata[i], i, error);
        if (status) return status;
        sorted[i] = what->metadata[i].key;
    }
    return check_unique(sorted, what->metadata_count, "pairs", error);
}

/* The length and the header behind it, padded; the caller gives the block back. */
static eg_status make_header(const content *what, eg__memory *memory, void **out, size_t *size,
                             eg_error *error) {
    eg__json json;
    char *text;
    size_t length;
    eg__json_begin(&json, memory);
    put_header(&json, what);
    eg_status status = eg__json_end(&json, &text, &length, error);
    if (status) return status;
    const size_t padded = eg__round_up(length, PADDING);
    if (padded > EG__SAFETENSORS_HEADER_MAX)
        status = eg__fail(error, EG_ERR_OVERFLOW, "header of '%zu' bytes is longer than %d", padded,
                          EG__SAFETENSORS_HEADER_MAX);
    if (!status) status = eg__file_take(memory, EG_TAG_FILE, LENGTH_SIZE + padded, out, error);
    if (!status) {
        char *to = (char *)eg__put64(*out, padded);
        memcpy(to, text, length);
        memset(to + length, ' ', padded - length);
        *size = LENGTH_SIZE + padded;
    }
    eg__memory_give(memory, text);
    return status;
}

static eg_status write_file(const content *what, const char *path, const void *header, size_t size,
                            eg_error *error) {
    eg__writer writer;
    eg_status status = eg__writer_begin(&writer, path, error);
    if (status) return status;
    status = eg__writer_append(&writer, header, size, error);
    for (size_t i = 0; i < what->count && !status; i++)
        status = eg__writer_append(&writer, what->tensors[i].data,
                                   (size_t)bytes_of(&what->tensors[i]), error);
    return eg__writer_end(&writer, status, error);
}

eg_status eg__safetensors_head(eg__memory *memory, size_t count, const char *const *names,
                               const eg_tensor *tensors, size_t metadata_count,
                               const eg_pair *metadata, void **out, size_t *size, eg_error *error) {
    const content what = {count, metadata_count, names, tensors, metadata};
    return make_header(&what, memory, out, size, error);
}

eg_status eg__safetensors_save(eg__memory *memory, const char *path, size_t count,
                               const char *const *names, const eg_tensor *tensors,
                               size_t metadata_count, const eg_pair *metadata, eg_error *error) {
    if (!path || (count && (!names || !tensors)) || (metadata_count && !metadata))
        return eg__fail(error, EG_ERR_ARGUMENT, "no path, no names, no tensors or no metadata");
    content what = {count, metadata_count, names, tensors, metadata};
    void *sorted, *header = NULL;
    size_t bytes, size = 0;
    if (!eg__size_mul(eg__max(count, metadata_count), sizeof(char *), &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "'%zu' tensors are too many", count);
    eg_status status = eg__file_take(memory, EG_TAG_FILE, bytes, &sorted, error);
    if (status) return status;
    status = check(&what, sorted, error);
    if (!status) status = make_header(&what, memory, &header, &size, error);
    if (!status) status = write_file(&what, path, header, size, error);
    eg__memory_give(memory, header);
    eg__memory_give(memory, sorted);
    return status;
}
