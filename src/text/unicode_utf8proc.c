/* What tokenizers ask of Unicode, by utf8proc. */
#include "text/text.h"

#include <utf8proc.h>

eg_status eg__unicode_check(const char *who, eg_error *error) {
    (void)who, (void)error;
    return EG_OK;
}

/* The property White_Space, which is not a category. */
static bool is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

unsigned eg__unicode_class(uint32_t code) {
    const unsigned space = is_space(code) ? EG__SPACE : 0;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return EG__LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return EG__NUMBER;
    case UTF8PROC_CATEGORY_MN: return EG__MARK;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return EG__PUNCTUATION;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO: return EG__CONTROL | space;
    default: return space;
    }
}

size_t eg__unicode_lower(uint32_t code, uint32_t out[2]) {
    out[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
    if (code != 0x130) return 1;
    out[0] = 'i'; /* the only one whose full lower case has two characters, in every language */
    out[1] = 0x307;
    return 2;
}

size_t eg__unicode_parts(uint32_t code, uint32_t out[EG__PARTS_MAX]) {
    utf8proc_int32_t parts[EG__PARTS_MAX];
    const utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)code, parts,
                                                           EG__PARTS_MAX, UTF8PROC_DECOMPOSE, NULL);
    if (count <= 0 || count > EG__PARTS_MAX) {
        out[0] = code;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++) out[i] = (uint32_t)parts[i];
    return (size_t)count;
}

eg_status eg__unicode_compose(eg__memory *memory, const char *text, size_t length, char **out,
                              size_t *out_length, eg_error *error) {
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text;
    eg_error mine = {0};
    *out = NULL;
    const utf8proc_ssize_t count =
        utf8proc_decompose(bytes, (utf8proc_ssize_t)length, NULL, 0, options);
    if (count <= 0) return EG_OK;
    /* it encodes in place, and puts a zero byte behind */
    utf8proc_int32_t *codes =
        eg__memory_take_array(memory, EG_TAG_OTHER, (size_t)count + 1, sizeof *codes, &mine);
    if (!codes) return eg__fail(error, mine.status, "%s", mine.message);
    utf8proc_decompose(bytes, (utf8proc_ssize_t)length, codes, count, options);
    const utf8proc_ssize_t size = utf8proc_reencode(codes, count, options);
    if (size < 0) {
        eg__memory_give(memory, codes);
        return EG_OK;
    }
    *out = (char *)codes;
    *out_length = (size_t)size;
    return EG_OK;
}
