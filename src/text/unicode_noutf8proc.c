/* Without utf8proc only tokenizers that need no Unicode categories work: SentencePiece. */
#include "text/text.h"

eg_status eg__unicode_check(const char *who, eg_error *error) {
    return eg__fail(error, EG_ERR_UNSUPPORTED, "a tokenizer of kind '%s' needs utf8proc", who);
}

unsigned eg__unicode_class(uint32_t code) {
    (void)code;
    return 0;
}

size_t eg__unicode_lower(uint32_t code, uint32_t out[2]) {
    out[0] = code;
    return 1;
}

size_t eg__unicode_parts(uint32_t code, uint32_t out[EG__PARTS_MAX]) {
    out[0] = code;
    return 1;
}

eg_status eg__unicode_compose(eg__memory *memory, const char *text, size_t length, char **out,
                              size_t *out_length, eg_error *error) {
    (void)memory, (void)text, (void)length, (void)out_length;
    *out = NULL;
    return eg__unicode_check("bpe", error);
}
