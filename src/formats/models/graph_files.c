/* Graphs in files, and in the memory of a context. */
#include "engine/context.h"
#include "formats/files/file.h"
#include "formats/models/graph_json.h"

enum { LIMIT = 256 << 20 }; /* bytes of a file that we are ready to read */

eg_status eg_graph_create(eg_context *context, eg_graph **out, eg_error *error) {
    if (!context || !out)
        return eg__fail(error, EG_ERR_ARGUMENT, "no context or no output pointer");
    return eg__graph_new(eg__context_memory(context), out, error);
}

eg_status eg_graph_save(const eg_graph *graph, const char *path, eg_error *error) {
    if (!graph || !path) return eg__fail(error, EG_ERR_ARGUMENT, "no graph or no path");
    char *text;
    size_t length;
    eg_status status = eg__graph_to_json(graph, &text, &length, error);
    if (status) return status;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__writer *writer = eg__memory_take(graph->memory, EG_TAG_FILE, sizeof *writer, &reason);
    if (!writer) status = eg__fail(error, reason.status, "%s", reason.message);
    if (!status) status = eg__writer_begin(writer, path, error);
    if (!status)
        status = eg__writer_end(writer, eg__writer_append(writer, text, length, error), error);
    eg__memory_give(graph->memory, writer);
    eg__memory_give(graph->memory, text);
    return status;
}

eg_status eg_graph_load(eg_context *context, const char *path, eg_graph **out, eg_error *error) {
    if (out) *out = NULL;
    if (!context || !path || !out) return eg__fail(error, EG_ERR_ARGUMENT, "no context or no path");
    void *text;
    size_t length;
    eg__memory *memory = eg__context_memory(context);
    eg_status status = eg__file_read(memory, path, LIMIT, &text, &length, error);
    if (status) return status;
    status = eg__graph_from_json(memory, text, length, out, error);
    eg__memory_give(memory, text);
    return status ? eg__file_blame(error, status, "file", path) : EG_OK;
}
