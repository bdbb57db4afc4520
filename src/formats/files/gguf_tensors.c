/* The tensors of .gguf: names, shapes and places, which must follow each other without a hole. */
#include "formats/files/bytes.h"
#include "formats/files/gguf.h"
#include "formats/files/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT_DEFAULT = 32, TENSOR_SIZE_MIN = 8 + 4 + 4 + 8 };

static int compare_names(const void *a, const void *b) {
    const eg__gguf_tensor *left = *(eg__gguf_tensor *const *)a;
    const eg__gguf_tensor *right = *(eg__gguf_tensor *const *)b;
    return strcmp(left->name, right->name);
}

static eg_status read_name(eg__gguf_cursor *cursor, eg__gguf_tensor *tensor, eg_error *error) {
    const char *text;
    size_t length;
    char shown[80];
    eg_status status = eg__gguf_take_text(cursor, "the name of a tensor", &text, &length, error);
    if (status) return status;
    eg__file_quote(shown, sizeof shown, text, length);
    if (length >= EG__GGUF_NAME_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "name '%s' of a tensor is longer than %d bytes",
                        shown, EG__GGUF_NAME_SIZE - 1);
    if (memchr(text, 0, length))
        return eg__fail(error, EG_ERR_FORMAT, "name '%s' of a tensor has a zero byte", shown);
    memcpy(tensor->name, text, length);
    tensor->about.name = tensor->name;
    if (!eg__utf8_valid(tensor->name))
        return eg__fail(error, EG_ERR_FORMAT, "name '%s' of a tensor is not UTF-8", shown);
    return EG_OK;
}

static eg_status read_shape(eg__gguf_cursor *cursor, eg_gguf_tensor *about, eg_error *error) {
    const unsigned char *at = eg__gguf_take(cursor, 4);
    if (!at) return eg__gguf_cut(cursor, "a rank", error);
    about->rank = eg__get32(at);
    if (about->rank > EG_GGUF_RANK_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "rank '%u' above %d", about->rank, EG_GGUF_RANK_MAX);
    for (unsigned i = 0; i < about->rank; i++) {
        at = eg__gguf_take(cursor, 8);
        if (!at) return eg__gguf_cut(cursor, "a shape", error);
        const uint64_t extent = eg__get64(at);
        if (extent > INT64_MAX)
            return eg__fail(error, EG_ERR_FORMAT, "extent '%lld' is negative", (long long)extent);
        about->shape[about->rank - 1 - i] = extent; /* the file has the fastest first */
    }
    return EG_OK;
}

/* As in eg_tensor_measure, the extents must fit without those that are 0, so that strides do too. */
static eg_status measure(eg_gguf_tensor *about, const eg__ggml_type *type, eg_error *error) {
    const uint64_t row = about->rank ? about->shape[about->rank - 1] : 1;
    if (row % type->block)
        return eg__fail(error, EG_ERR_FORMAT, "rows of '%llu' elements, no whole blocks of %s",
                        (unsigned long long)row, type->name);
    uint64_t elements = 1, bytes;
    bool fits = true, empty = false;
    for (unsigned i = 0; i < about->rank; i++)
        if (about->shape[i] == 0) empty = true;
        else if (__builtin_mul_overflow(elements, about->shape[i], &elements)) fits = false;
    if (!fits || __builtin_mul_overflow(elements, type->bytes, &bytes) || bytes > INT64_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "a size beyond 63 bits");
    about->elements = empty ? 0 : elements;
    about->bytes = empty ? 0 : elements / type->block * type->bytes;
    return EG_OK;
}

/* `end` is where the tensor before ends, padded; it becomes where this one does. */
static eg_status read_place(eg__gguf_cursor *cursor, eg_gguf_tensor *about, uint64_t alignment,
                            uint64_t *end, uint64_t *offset, eg_error *error) {
    const unsigned char *at = eg__gguf_take(cursor, 4);
    if (!at) return eg__gguf_cut(cursor, "an element type", error);
    const eg__ggml_type *type = eg__ggml_type_get(eg__get32(at));
    if (!type)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "unknown element type '%u'", eg__get32(at));
    about->type = type->name;
    eg_status status = measure(about, type, error);
    if (status) return status;
    at = eg__gguf_take(cursor, 8);
    if (!at) return eg__gguf_cut(cursor, "an offset", error);
    *offset = eg__get64(at);
    if (*offset != *end)
        return eg__fail(error, EG_ERR_FORMAT, "offset '%llu' instead of %llu",
                        (unsigned long long)*offset, (unsigned long long)*end);
    if (__builtin_add_overflow(*end, about->bytes, end) ||
        __builtin_add_overflow(*end, alignment - 1, end) || *end > INT64_MAX)
        return eg__fail(error, EG_ERR_OVERFLOW, "data beyond 63 bits");
    *end &= ~(alignment - 1);
    return EG_OK;
}

static eg_status read_tensor(eg__gguf_cursor *cursor, eg__gguf_tensor *tensor, uint64_t alignment,
                             uint64_t *end, uint64_t *offset, eg_error *error) {
    eg_status status = read_name(cursor, tensor, error);
    if (status) return status;
    status = read_shape(cursor, &tensor->about, error);
    if (!status) status = read_place(cursor, &tensor->about, alignment, end, offset, error);
    char shown[80];
    return status ? eg__file_blame(
                        error, status, "tensor",
                        eg__file_quote(shown, sizeof shown, tensor->name, strlen(tensor->name)))
                  : EG_OK;
}

static eg_status read_alignment(const eg_gguf *file, uint64_t *out, eg_error *error) {
    static const char key[] = "general.alignment";
    eg_gguf_entry entry;
    int64_t value;
    *out = ALIGNMENT_DEFAULT;
    if (eg_gguf_entry_find(file, key, &entry, NULL)) return EG_OK;
    if (entry.type != EG_GGUF_U32 || entry.is_array)
        return eg__fail(error, EG_ERR_FORMAT, "'%s' is '%s%s', not u32", key,
                        entry.is_array ? "array of " : "", eg_gguf_type_name(entry.type));
    eg_status status = eg_gguf_integer(file, key, 0, &value, error);
    if (status) return status;
    if (value <= 0 || value & (value - 1))
        return eg__fail(error, EG_ERR_FORMAT, "'%s' of '%lld' is no power of two", key,
                        (long long)value);
    *out = (uint64_t)value;
    return EG_OK;
}

static eg_status check_names(eg_gguf *file, eg_error *error) {
    for (size_t i = 0; i < file->tensor_count; i++) file->tensors_sorted[i] = &file->tensors[i];
    qsort(file->tensors_sorted, file->tensor_count, sizeof *file->tensors_sorted, compare_names);
    for (size_t i = 1; i < file->tensor_count; i++) {
        const char *name = file->tensors_sorted[i]->name;
        char shown[80];
        if (strcmp(name, file->tensors_sorted[i - 1]->name) == 0)
            return eg__fail(error, EG_ERR_FORMAT, "two tensors are called '%s'",
                            eg__file_quote(shown, sizeof shown, name, strlen(name)));
    }
    return EG_OK;
}

/* The data begin at the next multiple of the alignment. The padding behind the last tensor may be
 * missing: nobody reads it. */
static eg_status place(eg_gguf *file, const eg__gguf_cursor *cursor, uint64_t alignment,
                       const uint64_t *offsets, eg_error *error) {
    const uint64_t start = (cursor->at + alignment - 1) & ~(alignment - 1);
    for (size_t i = 0; i < file->tensor_count; i++) {
        eg_gguf_tensor *about = &file->tensors[i].about;
        /* below 2^63 each, so that their sum cannot wrap */
        if (about->bytes && start + offsets[i] + about->bytes > cursor->size)
            return eg__fail(error, EG_ERR_FORMAT,
                            "file of %zu bytes ends before byte '%llu', the end of tensor '%s'",
                            cursor->size, (unsigned long long)(start + offsets[i] + about->bytes),
                            about->name);
        about->data = cursor->bytes + (about->bytes ? start + offsets[i] : cursor->at);
    }
    return EG_OK;
}

static eg_status read_all(eg_gguf *file, eg__gguf_cursor *cursor, uint64_t *offsets,
                          eg_error *error) {
    uint64_t alignment, end = 0;
    eg_status status = read_alignment(file, &alignment, error);
    for (size_t i = 0; !status && i < file->tensor_count; i++)
        status = read_tensor(cursor, &file->tensors[i], alignment, &end, &offsets[i], error);
    if (!status) status = check_names(file, error);
    return status ? status : place(file, cursor, alignment, offsets, error);
}

eg_status eg__gguf_read_tensors(eg_gguf *file, eg__gguf_cursor *cursor, uint64_t count,
                                eg_error *error) {
    if (count > (cursor->size - cursor->at) / TENSOR_SIZE_MIN)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' tensors in a file of %zu bytes",
                        (unsigned long long)count, cursor->size);
    eg_error mine = {0};
    uint64_t *offsets = NULL;
    eg__memory *memory = file->memory;
    file->tensors =
        eg__memory_take_array(memory, EG_TAG_FILE, (size_t)count, sizeof *file->tensors, &mine);
    if (file->tensors)
        file->tensors_sorted = eg__memory_take_array(memory, EG_TAG_FILE, (size_t)count,
                                                     sizeof *file->tensors_sorted, &mine);
    if (file->tensors_sorted)
        offsets = eg__memory_take_array(memory, EG_TAG_FILE, (size_t)count, sizeof *offsets, &mine);
    if (!offsets) return eg__fail(error, mine.status, "%s", mine.message);
    file->tensor_count = (size_t)count;
    eg_status status = read_all(file, cursor, offsets, error);
    eg__memory_give(memory, offsets);
    return status;
}
