/* Reads .safetensors: a length, a header in JSON, and data that the header must cover exactly. */
#include "formats/files/bytes.h"
#include "formats/files/safetensors.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are read as they lie in files");

enum { LENGTH_SIZE = 8 }; /* of the number before the header */

/* The length can be anything that is not too long, then there is JSON; a file of that name may be cut off before it. */
bool eg__safetensors_is(const eg__head *head) {
    return eg__head_has(head, 5, "\0\0\0{", 4) ||
           (head->size == LENGTH_SIZE && eg__head_has(head, 5, "\0\0\0", 3) &&
            eg__head_named(head, ".safetensors"));
}

static int compare_offsets(const void *a, const void *b) {
    const eg__safetensor *left = *(eg__safetensor *const *)a, *right = *(eg__safetensor *const *)b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    return (left->end > right->end) - (left->end < right->end); /* an empty one comes before */
}

static int compare_names(const void *a, const void *b) {
    const eg__safetensor *left = *(eg__safetensor *const *)a, *right = *(eg__safetensor *const *)b;
    return strcmp(left->name, right->name);
}

/* Each tensor begins where the one before ended, and the last one ends with the file. */
static eg_status check_cover(eg_safetensors *file, uint64_t size, eg_error *error) {
    for (size_t i = 0; i < file->count; i++) file->sorted[i] = &file->tensors[i];
    qsort(file->sorted, file->count, sizeof *file->sorted, compare_offsets);
    uint64_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        const eg__safetensor *tensor = file->sorted[i];
        char shown[64];
        eg__file_quote(shown, sizeof shown, tensor->name, strlen(tensor->name));
        if (tensor->begin != end)
            return eg__fail(error, EG_ERR_FORMAT, "%s before byte '%llu' of the data, tensor '%s'",
                            tensor->begin > end ? "hole" : "overlap",
                            (unsigned long long)(tensor->begin > end ? tensor->begin : end), shown);
        if (tensor->end > size)
            return eg__fail(error, EG_ERR_FORMAT,
                            "data of %llu bytes end before byte '%llu', the end of tensor '%s'",
                            (unsigned long long)size, (unsigned long long)tensor->end, shown);
        end = tensor->end;
    }
    if (end != size)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' bytes behind the last tensor",
                        (unsigned long long)(size - end));
    return EG_OK;
}

/* C must not load a float from an odd address, and the format allows one: such tensors are copied.
 * Recent files have none. Tensors of unsupported dtypes are not copied. */
static bool is_aligned(const eg__safetensor *tensor) {
    size_t bytes = tensor->dtype->bits / 8;
    return tensor->dtype->type < 0 || (uintptr_t)tensor->data % bytes == 0;
}

static eg_status align(eg_safetensors *file, eg_error *error) {
    enum { ALIGNMENT = 64 };
    size_t total = 0, at = 0;
    for (size_t i = 0; i < file->count; i++) {
        const eg__safetensor *tensor = &file->tensors[i];
        if (is_aligned(tensor)) continue;
        size_t size = eg__round_up((size_t)(tensor->end - tensor->begin), ALIGNMENT);
        if (!eg__size_add(total, size, &total))
            return eg__fail(error, EG_ERR_OVERFLOW, "tensors are too large to be aligned");
    }
    void *block;
    eg_status status = eg__file_take(file->memory, EG_TAG_FILE, total, &block, error);
    if (status) return status;
    file->copies = block;
    for (size_t i = 0; i < file->count; i++) {
        eg__safetensor *tensor = &file->tensors[i];
        if (is_aligned(tensor)) continue;
        size_t size = (size_t)(tensor->end - tensor->begin);
        tensor->data = memcpy(file->copies + at, tensor->data, size);
        at += eg__round_up(size, ALIGNMENT);
    }
    return EG_OK;
}

static eg_status parse(eg_safetensors *file, const unsigned char *bytes, size_t size,
                       eg_error *error) {
    if (size < LENGTH_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "'%zu' bytes are no safetensors file", size);
    uint64_t length = eg__get64(bytes);
    if (length > EG__SAFETENSORS_HEADER_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "header of '%llu' bytes is longer than %d",
                        (unsigned long long)length, EG__SAFETENSORS_HEADER_MAX);
    if (length > size - LENGTH_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "header of '%llu' bytes in a file of %zu",
                        (unsigned long long)length, size);
    const char *header = (const char *)bytes + LENGTH_SIZE;
    eg_status status = eg__safetensors_header(file, header, (size_t)length, error);
    const unsigned char *data = bytes + LENGTH_SIZE + length;
    if (!status) status = check_cover(file, size - LENGTH_SIZE - length, error);
    if (status) return status;
    for (size_t i = 0; i < file->count; i++) file->tensors[i].data = data + file->tensors[i].begin;
    qsort(file->sorted, file->count, sizeof *file->sorted, compare_names);
    return align(file, error);
}

eg_status eg__safetensors_parse(eg__memory *memory, const void *bytes, size_t size,
                                eg_safetensors **out, eg_error *error) {
    *out = NULL;
    void *block;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, sizeof **out, &block, error);
    if (status) return status;
    eg_safetensors *file = block;
    memset(file, 0, sizeof *file);
    file->memory = memory;
    status = parse(file, bytes, size, error);
    if (status) eg_safetensors_close(file);
    else *out = file;
    return status;
}

/* Of tensors that had to be copied, the pages of the file are not needed. */
static void forget_copied(const eg_safetensors *file) {
    const unsigned char *bytes = file->mapping.bytes;
    const unsigned char *data = bytes + LENGTH_SIZE + eg__get64(bytes);
    for (size_t i = 0; i < file->count; i++) {
        const eg__safetensor *tensor = &file->tensors[i];
        if (tensor->data != data + tensor->begin)
            eg__mapping_forget(&file->mapping, data + tensor->begin, tensor->end - tensor->begin);
    }
}

eg_status eg__safetensors_open(eg__memory *memory, const char *path, bool maps,
                               eg_safetensors **out, eg_error *error) {
    *out = NULL;
    eg__mapping mapping;
    eg_status status = eg__mapping_open(&mapping, memory, path, maps, error);
    if (status) return status;
    void *copy;
    size_t length = strlen(path) + 1;
    status = eg__file_take(memory, EG_TAG_FILE, length, &copy, error);
    if (!status) status = eg__safetensors_parse(memory, mapping.bytes, mapping.size, out, error);
    if (status) {
        eg__memory_give(memory, copy);
        eg__mapping_close(&mapping, memory);
        return eg__file_blame(error, status, "", path);
    }
    (*out)->path = memcpy(copy, path, length);
    (*out)->mapping = mapping;
    forget_copied(*out);
    return EG_OK;
}

void eg_safetensors_close(eg_safetensors *file) {
    if (!file) return;
    eg__memory *memory = file->memory;
    eg__mapping_close(&file->mapping, memory);
    eg__memory_give(memory, file->path);
    eg__memory_give(memory, file->tensors);
    eg__memory_give(memory, file->sorted);
    eg__memory_give(memory, file->metadata);
    eg__memory_give(memory, file->texts);
    eg__memory_give(memory, file->copies);
    eg__memory_give(memory, file);
}

size_t eg_safetensors_count(const eg_safetensors *file) { return file ? file->count : 0; }

const char *eg_safetensors_name(const eg_safetensors *file, size_t index) {
    return file && index < file->count ? file->tensors[index].name : NULL;
}

static eg_status find(const eg_safetensors *file, const char *name, eg_tensor *out,
                      eg_error *error) {
    eg__safetensor wanted = {.name = name}, *key = &wanted;
    eg__safetensor *const *found =
        bsearch(&key, file->sorted, file->count, sizeof *file->sorted, compare_names);
    if (!found) return eg__fail(error, EG_ERR_NOT_FOUND, "no tensor '%s'", name);
    const eg__safetensor *tensor = *found;
    if (tensor->dtype->type < 0)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "no type for dtype '%s' of tensor '%s'",
                        tensor->dtype->name, name);
    if (tensor->rank > EG_RANK_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "rank '%u' above %d of tensor '%s'",
                        tensor->rank, EG_RANK_MAX, name);
    out->type = (eg_type)tensor->dtype->type;
    out->rank = tensor->rank;
    memcpy(out->shape, tensor->shape, sizeof out->shape);
    out->data = (void *)(uintptr_t)tensor->data; /* a view has no const, its owner says so */
    return EG_OK;
}

eg_status eg_safetensors_tensor(const eg_safetensors *file, const char *name, eg_tensor *out,
                                eg_error *error) {
    if (out) memset(out, 0, sizeof *out);
    if (!file || !name || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no file, no name or no output pointer for a tensor");
    eg_status status = find(file, name, out, error);
    return status && file->path ? eg__file_blame(error, status, "", file->path) : status;
}

size_t eg_safetensors_metadata_count(const eg_safetensors *file) {
    return file ? file->metadata_count : 0;
}

eg_status eg_safetensors_metadata_at(const eg_safetensors *file, size_t index, const char **key,
                                     const char **value) {
    bool there = index < eg_safetensors_metadata_count(file);
    if (key) *key = there ? file->metadata[index].key : NULL;
    if (value) *value = there ? file->metadata[index].value : NULL;
    return there ? EG_OK : EG_ERR_NOT_FOUND;
}

const char *eg_safetensors_metadata(const eg_safetensors *file, const char *key) {
    for (size_t i = 0; key && i < eg_safetensors_metadata_count(file); i++)
        if (strcmp(file->metadata[i].key, key) == 0) return file->metadata[i].value;
    return NULL;
}
