/* A build without jansson has no graphs in JSON. */
#include "formats/models/graph_json.h"

eg_status eg__graph_to_json(const eg_graph *graph, char **text, size_t *length, eg_error *error) {
    (void)graph, (void)text, (void)length;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}

eg_status eg__graph_from_json(eg__memory *memory, const char *text, size_t length, eg_graph **out,
                              eg_error *error) {
    (void)memory, (void)text, (void)length;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}
