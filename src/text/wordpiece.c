/* WordPiece: text cleaned, folded and cut into words, each made of the longest known pieces. */
#include "formats/files/utf8.h"
#include "text/text.h"

#include <string.h>

/* ---- characters */
static bool is_chinese(uint32_t c) {
    static const uint32_t ranges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                         {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static bool is_punctuation(uint32_t c) {
    if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
        (c >= 123 && c <= 126))
        return true; /* the symbols of ASCII count, too */
    return c >= 0x80 && eg__unicode_class(c) & EG__PUNCTUATION;
}

static bool is_space(uint32_t c) { return eg__unicode_class(c) & EG__SPACE; }

static bool is_dropped(uint32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    return c == 0 || c == EG__REPLACEMENT || eg__unicode_class(c) & EG__CONTROL;
}

/* ---- words: the escaped text holds the current one, its mark before it */
static eg_status begin_word(eg__encoding *e) {
    e->text_length = 0;
    return eg__encoding_add_text(e, EG__SPACE_MARK, EG__SPACE_MARK_SIZE);
}

static size_t count_characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static eg_status unknown(eg__encoding *e, size_t before) {
    const int64_t id = e->tokenizer->special[EG_SPECIAL_UNKNOWN];
    e->count = before;
    if (id < 0)
        return eg__fail(e->error, EG_ERR_NOT_FOUND,
                        "a word has no token, and there is no unknown token");
    return eg__encoding_add(e, (uint32_t)id);
}

/* Greedy longest match from left to right; if no piece matches somewhere, the whole word is
 * unknown. */
static eg_status end_word(eg__encoding *e) {
    const eg_tokenizer *t = e->tokenizer;
    const size_t before = e->count;
    eg_status status = EG_OK;
    if (e->text_length == EG__SPACE_MARK_SIZE) return EG_OK;
    if (count_characters(e->text + EG__SPACE_MARK_SIZE, e->text_length - EG__SPACE_MARK_SIZE) >
        t->word_max)
        return unknown(e, before);
    for (size_t at = 0; !status && at < e->text_length;) {
        size_t size = eg__min(e->text_length - at, t->vocabulary.longest);
        int64_t id = EG__NO_TOKEN;
        /* a mark in the user's text would match the beginning of a word inside this one */
        if (at && memcmp(e->text + at, EG__SPACE_MARK, eg__min(size, EG__SPACE_MARK_SIZE)) == 0)
            return unknown(e, before);
        for (; size; size--) {
            id = eg__vocabulary_find(&t->vocabulary, e->text + at, size);
            if (id >= 0) break;
        }
        if (!size) return unknown(e, before);
        status = eg__encoding_add(e, (uint32_t)id);
        at += size;
    }
    return status;
}

static eg_status cut(eg__encoding *e) {
    eg_status status = end_word(e);
    return status ? status : begin_word(e);
}

static eg_status add_character(eg__encoding *e, uint32_t code) {
    const bool alone = is_punctuation(code) || (e->tokenizer->chinese && is_chinese(code));
    char bytes[4];
    const size_t size = eg__utf8_write(code, bytes);
    if (is_space(code)) return cut(e);
    eg_status status = alone ? cut(e) : EG_OK;
    if (!status) status = eg__encoding_add_text(e, bytes, size);
    return !status && alone ? cut(e) : status;
}

static eg_status fold(eg__encoding *e, uint32_t code) {
    const eg_tokenizer *t = e->tokenizer;
    uint32_t parts[EG__PARTS_MAX] = {code};
    const size_t count = t->strip ? eg__unicode_parts(code, parts) : 1;
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < count; i++) {
        uint32_t folded[2] = {parts[i]};
        if (t->strip && eg__unicode_class(parts[i]) & EG__MARK) continue;
        const size_t letters = t->lower ? eg__unicode_lower(parts[i], folded) : 1;
        for (size_t k = 0; !status && k < letters; k++) status = add_character(e, folded[k]);
    }
    return status;
}

eg_status eg__encode_wordpiece(eg__encoding *e, const char *text, size_t length) {
    eg_status status = begin_word(e);
    for (size_t at = 0; !status && at < length;) {
        uint32_t code;
        bool valid;
        at += eg__character(text + at, length - at, &code, &valid);
        if (!valid || (e->tokenizer->clean && is_dropped(code))) continue;
        status = fold(e, code);
    }
    return status ? status : end_word(e);
}
