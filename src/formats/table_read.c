/* Reads tables from files; the end of a file's name says how. */
#include "engine/context.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/table.h"

#include <string.h>

eg_status eg__table_load_text(eg__memory *memory, const char *path, const eg_table_options *options,
                              eg_table *out, eg_error *error) {
    eg__mapping file;
    eg_status status = eg__mapping_open(&file, memory, path, true, error);
    if (status) return status;
    status = eg__table_from_text(memory, file.bytes, file.size, options, out, error);
    eg__mapping_close(&file, memory);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

static eg_status load_array(eg__memory *memory, const char *path, eg_table *out, eg_error *error) {
    eg_tensor array;
    bool f64;
    eg_status status = eg__npy_load(memory, path, &f64, &array, error);
    if (status) return status;
    status = eg__table_from_array(memory, &array, f64, out, error);
    eg__memory_give(memory, array.data);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

static eg_status load_archive(eg__memory *memory, const char *path, eg_table *out,
                              eg_error *error) {
    eg_npz *archive;
    eg_status status = eg__npz_open(memory, path, &archive, error);
    if (status) return status;
    status = eg__table_from_archive(memory, archive, path, out, error);
    eg_npz_close(archive);
    return status;
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

eg_status eg_table_read(eg_context *context, const char *path, const eg_table_options *options,
                        eg_table *out, eg_error *error) {
    static const eg_table_options defaults = {0};
    if (out) *out = (eg_table){0};
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no path or no place for a table");
    if (!options) options = &defaults;
    if (options->short_header && options->no_header)
        return eg__fail(error, EG_ERR_ARGUMENT, "a short header and no header: not both");
    eg__memory *memory = eg__context_memory(context);
    if (ends_with(path, ".npy")) return load_array(memory, path, out, error);
    if (ends_with(path, ".npz")) return load_archive(memory, path, out, error);
    return eg__table_load_text(memory, path, options, out, error);
}
