/* tokenizer.json needs jansson. */
#include "text/text.h"

eg_status eg__tokenizer_from_json(eg__memory *memory, const char *text, size_t length,
                                  eg_tokenizer **out, eg_error *error) {
    (void)memory, (void)text, (void)length;
    *out = NULL;
    return eg__fail(error, EG_ERR_UNSUPPORTED, "tokenizers in JSON need jansson");
}
