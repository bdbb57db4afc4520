/* Writes .npz archives of stored arrays, the same bytes as numpy.savez. */
#include "formats/files/npy.h"
#include "formats/files/npz.h"
#include "formats/files/utf8.h"
#include "formats/files/zip.h"

#include <stdlib.h>
#include <string.h>

enum { FLAG_UTF8 = 1 << 11 };
static const char extension[] = ".npy";
enum { EXTENSION_LENGTH = sizeof extension - 1 };

/* Everything that a save takes. */
typedef struct archive {
    eg__zip_entry *entries;
    const char **sorted;
    char *names; /* with their extensions, one after the other */
} archive;

/* zip marks names beyond ASCII as UTF-8, and readers refuse an archive where that is not so. */
static eg_status check_name(const char *name, size_t index, eg__zip_entry *out, eg_error *error) {
    *out = (eg__zip_entry){.method = EG__ZIP_STORED};
    if (!name || !name[0])
        return eg__fail(error, EG_ERR_ARGUMENT, "tensor '%zu' has no name", index);
    if (strlen(name) > EG__ZIP_NAME_MAX - EXTENSION_LENGTH)
        return eg__fail(error, EG_ERR_ARGUMENT, "name '%.40s...' of %zu bytes is too long", name,
                        strlen(name));
    const unsigned char *at = (const unsigned char *)name;
    while (*at) {
        size_t length = eg__utf8_length(at);
        if (!length)
            return eg__fail(error, EG_ERR_ARGUMENT, "name of tensor '%zu' is not UTF-8", index);
        if (length > 1) out->flags = FLAG_UTF8;
        at += length;
    }
    out->name_length = (size_t)(at - (const unsigned char *)name) + EXTENSION_LENGTH;
    return EG_OK;
}

static int compare_texts(const void *a, const void *b) {
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

static eg_status check_unique(const char **sorted, size_t count, eg_error *error) {
    qsort(sorted, count, sizeof *sorted, compare_texts);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return eg__fail(error, EG_ERR_ARGUMENT, "two tensors are called '%.60s'", sorted[i]);
    return EG_OK;
}

static eg_status take_list(eg__memory *memory, size_t count, size_t size, void **out,
                           eg_error *error) {
    size_t bytes;
    if (!eg__size_mul(count, size, &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "'%zu' tensors are too many", count);
    return eg__file_take(memory, EG_TAG_FILE, bytes, out, error);
}

static void give_lists(archive *lists, eg__memory *memory) {
    eg__memory_give(memory, lists->entries);
    eg__memory_give(memory, lists->sorted);
    eg__memory_give(memory, lists->names);
}

/* Names and flags of all entries: what can be wrong with them is found before a file is begun. */
static eg_status name_entries(archive *lists, eg__memory *memory, size_t count,
                              const char *const *names, eg_error *error) {
    void *block;
    eg_status status = take_list(memory, count, sizeof *lists->entries, &block, error);
    if (status) return status;
    lists->entries = block;
    status = take_list(memory, count, sizeof *lists->sorted, &block, error);
    if (status) return status;
    lists->sorted = block;
    size_t letters = 0;
    for (size_t i = 0; i < count; i++) {
        status = check_name(names[i], i, &lists->entries[i], error);
        if (status) return status;
        lists->sorted[i] = names[i];
        letters += lists->entries[i].name_length;
    }
    status = take_list(memory, letters, 1, &block, error);
    if (status) return status;
    lists->names = block;
    char *at = lists->names;
    for (size_t i = 0; i < count; i++) {
        size_t length = lists->entries[i].name_length;
        memcpy(at, names[i], length - EXTENSION_LENGTH);
        memcpy(at + length - EXTENSION_LENGTH, extension, EXTENSION_LENGTH);
        lists->entries[i].name = at;
        at += length;
    }
    return check_unique(lists->sorted, count, error);
}

static eg_status write_array(eg__writer *writer, eg__zip_entry *entry, const eg_tensor *tensor,
                             eg_error *error) {
    char header[EG__NPY_HEADER_SIZE];
    size_t size = 0;
    eg_status status = eg__npy_prepare(header, tensor, &size, error);
    if (status) return status;
    entry->crc = eg__crc32(eg__crc32(0, header, sizeof header), tensor->data, size);
    entry->offset = writer->size;
    entry->size = entry->packed = sizeof header + (uint64_t)size;
    status = eg__zip_write_local(writer, entry, error);
    if (!status) status = eg__writer_append(writer, header, sizeof header, error);
    if (!status) status = eg__writer_append(writer, tensor->data, size, error);
    return status;
}

static eg_status write_file(archive *lists, const char *path, size_t count,
                            const char *const *names, const eg_tensor *tensors, eg_error *error) {
    eg__writer writer;
    eg_status status = eg__writer_begin(&writer, path, error);
    if (status) return status;
    for (size_t i = 0; i < count && !status; i++) {
        status = write_array(&writer, &lists->entries[i], &tensors[i], error);
        if (status) eg__file_blame(error, status, "tensor", names[i]);
    }
    if (!status)
        status = eg__zip_write_directory(&writer, writer.size, lists->entries, count, error);
    return eg__writer_end(&writer, status, error);
}

eg_status eg__npz_save(eg__memory *memory, const char *path, size_t count, const char *const *names,
                       const eg_tensor *tensors, eg_error *error) {
    if (!path || (count && (!names || !tensors)))
        return eg__fail(error, EG_ERR_ARGUMENT, "no path, no names or no tensors");
    archive lists = {0};
    eg_status status = name_entries(&lists, memory, count, names, error);
    if (!status) status = write_file(&lists, path, count, names, tensors, error);
    give_lists(&lists, memory);
    return status;
}
