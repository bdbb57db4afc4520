/* Reads tables from files; the end of a file's name says how, or that it begins as arrays do. */
#include "base/abi.h"
#include "engine/context.h"
#include "formats/files/encoding.h"
#include "formats/files/npy.h"
#include "formats/files/npz.h"
#include "formats/tables/table.h"

#include <string.h>

eg_status eg__table_load_text(eg__memory *memory, const char *path, const eg_table_options *options,
                              eg_table *out, eg_error *error) {
    eg__mapping file;
    int encoding;
    char *text = NULL;
    size_t size;
    eg_status status = eg__encoding_find(options->encoding, &encoding, error);
    if (!status) status = eg__mapping_open(&file, memory, path, true, error);
    if (status) return status;
    if (eg__encoding_is_utf8(encoding))
        status = eg__table_from_text(memory, file.bytes, file.size, options, out, error);
    else {
        status = eg__encoding_convert(memory, encoding, file.bytes, file.size, &text, &size, error);
        if (!status) status = eg__table_from_text(memory, text, size, options, out, error);
        eg__memory_give(memory, text);
    }
    eg__mapping_close(&file, memory);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

/* What was saved under a name of its own is an array all the same. */
static bool is_array(const char *path) {
    static const char magic[] = "\x93NUMPY";
    char head[sizeof magic - 1] = "";
    eg__source source;
    if (eg__file_ends(path, ".npy")) return true;
    if (eg__source_open(&source, path, NULL)) return false;
    if (source.size >= sizeof head) eg__source_read(&source, 0, head, sizeof head, NULL);
    eg__source_close(&source);
    return memcmp(head, magic, sizeof head) == 0;
}

static eg_status load_array(eg__memory *memory, const char *path, eg_table *out, eg_error *error) {
    eg_tensor array;
    eg__npy_layout layout = {.any = true};
    eg_status status = eg__npy_load(memory, path, &layout, &array, error);
    if (status) return status;
    status = eg__table_from_array(memory, &array, &layout, out, error);
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

eg_status eg_table_read(eg_context *context, const char *path, const eg_table_options *given,
                        eg_table *out, eg_error *error) {
    eg_table_options kept, *const options = &kept;
    if (out) *out = (eg_table){0};
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no path or no place for a table");
    const eg_status taken = EG__OPTIONS(eg_table_options, &kept, given, error);
    if (taken) return taken;
    if (options->short_header && options->no_header)
        return eg__fail(error, EG_ERR_ARGUMENT, "a short header and no header: not both");
    if (options->decimal && options->decimal != '.' && options->decimal != ',')
        return eg__fail(error, EG_ERR_ARGUMENT, "decimal '%c' is neither '.' nor ','",
                        options->decimal);
    if (!eg_date_order_name(options->dates))
        return eg__fail(error, EG_ERR_ARGUMENT, "unknown order %d of dates", (int)options->dates);
    eg__memory *memory = eg__context_memory(context);
    if (is_array(path)) return load_array(memory, path, out, error);
    if (eg__file_ends(path, ".npz")) return load_archive(memory, path, out, error);
    return eg__table_load_text(memory, path, options, out, error);
}
