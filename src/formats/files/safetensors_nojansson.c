/* A build without jansson reads no headers of .safetensors. */
#include "formats/files/safetensors.h"

eg_status eg__safetensors_header(eg_safetensors *file, const char *text, size_t length,
                                 eg_error *error) {
    (void)file, (void)text, (void)length;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "this build has no JSON (built without jansson)");
}
