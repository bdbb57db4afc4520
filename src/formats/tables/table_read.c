/* Reads tables from files: a row for each format, found by first bytes or by the end of a name. */
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

static eg_status load_array(eg__memory *memory, const char *path, const eg_table_options *options,
                            eg_table *out, eg_error *error) {
    (void)options;
    eg_tensor array;
    eg__npy_layout layout = {.any = true};
    eg_status status = eg__npy_load(memory, path, &layout, &array, error);
    if (status) return status;
    status = eg__table_from_array(memory, &array, &layout, out, error);
    eg__memory_give(memory, array.data);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

static eg_status load_archive(eg__memory *memory, const char *path, const eg_table_options *options,
                              eg_table *out, eg_error *error) {
    (void)options;
    eg_npz *archive;
    eg_status status = eg__npz_open(memory, path, &archive, error);
    if (status) return status;
    status = eg__table_from_archive(memory, archive, path, out, error);
    eg_npz_close(archive);
    return status;
}

/* What nobody recognises is text. */
typedef struct format {
    bool (*is)(const eg__head *head);
    const char *end;
    eg_status (*load)(eg__memory *memory, const char *path, const eg_table_options *options,
                      eg_table *out, eg_error *error);
} format;
static const format formats[] = {{eg__npy_is, ".npy", load_array},
                                 {eg__npz_is, ".npz", load_archive},
                                 {NULL, "", eg__table_load_text}};

static const format *find(const char *path) {
    eg__head head;
    const format *f = formats;
    eg__head_read(&head, path);
    while (f->is && !f->is(&head)) f++;
    if (f->is) return f;
    for (f = formats; f->is && !eg__head_named(&head, f->end);) f++;
    return f;
}

eg_status eg_table_read(eg_context *context, const char *path, const eg_table_options *given,
                        eg_table *out, eg_error *error) {
    eg_table_options kept, *const options = &kept;
    if (out) *out = (eg_table){0};
    if (!context || !path || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no context, no path or no output pointer for a table");
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
    return find(path)->load(memory, path, options, out, error);
}
