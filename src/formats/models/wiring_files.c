/* Wirings in files, and in the memory of a context. */
#include "engine/context.h"
#include "formats/files/file.h"
#include "formats/models/wiring_json.h"

enum { LIMIT = 256 << 20 }; /* bytes of a file that we are ready to read */

static eg_status load(eg__memory *memory, const char *path, eg_wiring **out, eg_error *error) {
    void *text;
    size_t length;
    eg_status status = eg__file_read(memory, path, LIMIT, &text, &length, error);
    if (status) return status;
    status = eg__wiring_from_json(memory, text, length, out, error);
    eg__memory_give(memory, text);
    return status ? eg__file_blame(error, status, "file", path) : EG_OK;
}

eg_status eg_wiring_create(eg_context *context, const char *spec, eg_wiring **out,
                           eg_error *error) {
    if (out) *out = NULL;
    if (!context || !spec || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no spec or no output pointer");
    eg__memory *memory = eg__context_memory(context);
    if (eg__file_ends(spec, ".json")) return load(memory, spec, out, error);
    eg__wiring_options options;
    uint32_t inputs;
    eg_status status = eg__wiring_parse(spec, &options, &inputs, error);
    if (status) return status;
    if (!inputs) return eg__fail(error, EG_ERR_ARGUMENT, "no 'in=N' in the wiring '%.100s'", spec);
    return eg__wiring_build(memory, &options, inputs, out, error);
}

eg_status eg_wiring_create_json(eg_context *context, const char *json, size_t length,
                                eg_wiring **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !json || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context, no text or no output pointer");
    return eg__wiring_from_json(eg__context_memory(context), json, length, out, error);
}

eg_status eg_wiring_save(const eg_wiring *wiring, const char *path, eg_error *error) {
    if (!wiring || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no wiring or no path");
    char *text;
    size_t length;
    eg_status status = eg__wiring_to_json(wiring, &text, &length, error);
    if (status) return status;
    void *place;
    status = eg__file_take(wiring->memory, EG_TAG_FILE, sizeof(eg__writer), &place, error);
    eg__writer *writer = place;
    if (!status) status = eg__writer_begin(writer, path, error);
    if (!status)
        status = eg__writer_end(writer, eg__writer_append(writer, text, length, error), error);
    eg__memory_give(wiring->memory, place);
    eg__memory_give(wiring->memory, text);
    return status;
}
