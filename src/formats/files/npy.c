/* Reads and writes .npy files: one array each, read into a new tensor without a copy. */
#include "formats/files/bytes.h"
#include "formats/files/npy.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are read as they lie in files");

/* More than anybody needs for one type and six extents; numpy itself stops at 10000. */
enum { HEADER_MAX = 65535, MAGIC_SIZE = 6 };
static const char magic[] = "\x93NUMPY";

bool eg__npy_is(const eg__head *head) { return eg__head_has(head, 0, magic, MAGIC_SIZE); }

/* The length of the header's text and where it starts, from magic and version. */
static eg_status read_prefix(const eg__stream *stream, size_t *start, size_t *length,
                             eg_error *error) {
    unsigned char prefix[12];
    if (stream->size < 8) return eg__fail(error, EG_ERR_FORMAT, "too short for an .npy header");
    eg_status status = stream->read(stream->user, prefix, 8, error);
    if (status) return status;
    if (memcmp(prefix, magic, MAGIC_SIZE) != 0)
        return eg__fail(error, EG_ERR_FORMAT,
                        "not an .npy array: it does not start with its magic");
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0)
        return eg__fail(error, EG_ERR_UNSUPPORTED, ".npy version '%u.%u'", prefix[6], prefix[7]);
    size_t width = prefix[6] == 1 ? 2 : 4;
    *start = 8 + width;
    if (stream->size < *start)
        return eg__fail(error, EG_ERR_FORMAT, "too short for an .npy header");
    status = stream->read(stream->user, prefix + 8, width, error);
    if (status) return status;
    *length = width == 2 ? eg__get16(prefix + 8) : eg__get32(prefix + 8);
    if (*length > HEADER_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "header of %zu bytes is longer than %d", *length,
                        HEADER_MAX);
    if (*length > stream->size - *start)
        return eg__fail(error, EG_ERR_FORMAT, "header of %zu bytes, and only %llu are left",
                        *length, (unsigned long long)(stream->size - *start));
    return EG_OK;
}

static eg_status read_header(eg__memory *memory, const eg__stream *stream, eg__npy_layout *layout,
                             eg_tensor *tensor, uint64_t *data_size, eg_error *error) {
    size_t start = 0, length = 0;
    eg_status status = read_prefix(stream, &start, &length, error);
    if (status) return status;
    void *text;
    status = eg__file_take(memory, EG_TAG_FILE, length, &text, error);
    if (status) return status;
    status = stream->read(stream->user, text, length, error);
    if (!status) status = eg__npy_header_parse(text, length, layout, tensor, error);
    eg__memory_give(memory, text);
    if (status) return status;
    status = eg_tensor_measure(tensor, NULL, data_size, error);
    if (status) return status;
    uint64_t present = stream->size - start - length;
    if (present != *data_size)
        return eg__fail(error, EG_ERR_FORMAT, "%llu bytes of data, and the header promises %llu",
                        (unsigned long long)present, (unsigned long long)*data_size);
    return EG_OK;
}

/* ---- Fortran order: column-major to row-major */
static void transpose(const eg_tensor *t, size_t width, const unsigned char *from,
                      unsigned char *to) {
    uint64_t at[EG_RANK_MAX] = {0}, steps[EG_RANK_MAX], elements = 1, source = 0;
    for (unsigned i = 0; i < t->rank; i++) {
        steps[i] = elements; /* in the file, the first axis is the fastest */
        elements *= t->shape[i];
    }
    for (uint64_t n = 0; n < elements; n++, to += width) {
        memcpy(to, from + source * width, width);
        for (unsigned i = t->rank; i-- > 0;) {
            source += steps[i];
            if (++at[i] < t->shape[i]) break;
            source -= steps[i] * t->shape[i];
            at[i] = 0;
        }
    }
}

static eg_status to_row_major(eg__memory *memory, uint64_t size, eg_tensor *tensor,
                              eg_error *error) {
    void *turned;
    const size_t width = eg_type_bits(tensor->type) / 8;
    eg_status status = eg__file_take(memory, EG_TAG_TENSOR, (size_t)size, &turned, error);
    if (status) return status;
    transpose(tensor, width, tensor->data, turned);
    eg__memory_give(memory, tensor->data);
    tensor->data = turned;
    return EG_OK;
}

eg_status eg__npy_decode_stream(eg__memory *memory, const eg__stream *stream,
                                eg__npy_layout *layout, eg_tensor *out, eg_error *error) {
    memset(out, 0, sizeof *out);
    eg_tensor tensor;
    uint64_t size = 0;
    eg__npy_layout usual = {0};
    if (!layout) layout = &usual;
    eg_status status = read_header(memory, stream, layout, &tensor, &size, error);
    if (status) return status;
    status = eg__file_take(memory, EG_TAG_TENSOR, (size_t)size, &tensor.data, error);
    if (status) return status;
    status = stream->read(stream->user, tensor.data, (size_t)size, error);
    if (!status && layout->fortran) status = to_row_major(memory, size, &tensor, error);
    if (status) {
        eg__memory_give(memory, tensor.data);
        return status;
    }
    /* Any byte but 0 is true for numpy; kernels may count on 1. */
    unsigned char *truth = tensor.data;
    for (uint64_t i = 0; tensor.type == EG_BOOL && i < size; i++) truth[i] = truth[i] != 0;
    *out = tensor;
    return EG_OK;
}

typedef struct cursor {
    eg__source source;
    uint64_t at;
} cursor;

static eg_status cursor_read(void *user, void *out, size_t size, eg_error *error) {
    cursor *from = user;
    eg_status status = eg__source_read(&from->source, from->at, out, size, error);
    from->at += size;
    return status;
}

eg_status eg__npy_decode(eg__memory *memory, const void *bytes, size_t length, eg_tensor *out,
                         eg_error *error) {
    cursor from = {eg__source_of_bytes(bytes, length), 0};
    eg__stream stream = {cursor_read, &from, length};
    return eg__npy_decode_stream(memory, &stream, NULL, out, error);
}

eg_status eg__npy_load(eg__memory *memory, const char *path, eg__npy_layout *layout, eg_tensor *out,
                       eg_error *error) {
    memset(out, 0, sizeof *out);
    cursor from = {.at = 0};
    eg_status status = eg__source_open(&from.source, path, error);
    if (status) return status;
    eg__stream stream = {cursor_read, &from, from.source.size};
    status = eg__npy_decode_stream(memory, &stream, layout, out, error);
    eg__source_close(&from.source);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

eg_status eg__npy_prepare(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor, size_t *size,
                          eg_error *error) {
    uint64_t bytes;
    eg_status status = eg_tensor_measure(tensor, NULL, &bytes, error);
    if (status) return status;
    if (bytes && !tensor->data) return eg__fail(error, EG_ERR_ARGUMENT, "tensor without data");
    *size = (size_t)bytes;
    return eg__npy_header_format(out, tensor, error);
}

eg_status eg_npy_write(const char *path, const eg_tensor *tensor, eg_error *error) {
    if (!path) return eg__fail(error, EG_ERR_ARGUMENT, "no path");
    char header[EG__NPY_HEADER_SIZE];
    size_t size = 0;
    eg_status status = eg__npy_prepare(header, tensor, &size, error);
    if (status) return status;
    eg__writer writer;
    status = eg__writer_begin(&writer, path, error);
    if (status) return status;
    status = eg__writer_append(&writer, header, sizeof header, error);
    if (!status) status = eg__writer_append(&writer, tensor->data, size, error);
    return eg__writer_end(&writer, status, error);
}
