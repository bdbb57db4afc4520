/* A build without jansson has no wirings in JSON. */
#include "formats/models/wiring_json.h"

eg_status eg__wiring_to_json(const eg__wiring *wiring, char **text, size_t *length,
                             eg_error *error) {
    (void)wiring, (void)text, (void)length;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}

eg_status eg__wiring_from_json(eg__memory *memory, const char *text, size_t length,
                               eg__wiring **out, eg_error *error) {
    (void)memory, (void)text, (void)length;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}
