/* SentencePiece: characters joined by score (or by rank), bytes for those without a token. */
#include "text/text.h"

#include <string.h>

static const char *space_of(const eg_tokenizer *t) { return t->plain_space ? " " : EG__SPACE_MARK; }

/* Replaces spaces by their mark and adds one before the text if the vocabulary requires it. */
static eg_status escape(eg__encoding *e, const char *text, size_t length, bool first) {
    const eg_tokenizer *t = e->tokenizer;
    const char *space = space_of(t);
    const size_t size = strlen(space);
    const bool there = text[0] == ' ' || (length >= size && memcmp(text, space, size) == 0);
    eg_status status = EG_OK;
    e->text_length = 0;
    if ((t->prefix == EG__PREFIX_ALWAYS || (t->prefix == EG__PREFIX_FIRST && first)) &&
        !(t->prefix_once && there))
        status = eg__encoding_add_text(e, space, size);
    for (size_t at = 0, end; !status && at < length; at = end) {
        for (end = at; end < length && text[end] != ' ';) end++;
        status = eg__encoding_add_text(e, text + at, end - at);
        for (; !status && end < length && text[end] == ' '; end++)
            status = eg__encoding_add_text(e, space, size);
    }
    return status;
}

static eg_status encode_part(eg__encoding *e, const char *text, size_t length) {
    const eg_tokenizer *t = e->tokenizer;
    eg_status status = eg__merge_begin(e, length);
    if (status) return status;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        bool valid;
        const size_t size = eg__character(text + at, length - at, &code, &valid);
        eg__merge_symbol(e, at, size, eg__vocabulary_find(&t->vocabulary, text + at, size));
        at += size;
    }
    eg__merge_run(e, text);
    for (size_t i = 0; !status && i < e->symbol_count; i++) {
        const eg__symbol *symbol = &e->symbols[i];
        if (!symbol->length) continue;
        status = symbol->id >= 0 ? eg__encoding_add(e, (uint32_t)symbol->id)
                                 : eg__encoding_add_bytes(e, text + symbol->start, symbol->length);
    }
    return status;
}

/* Where the next word begins: at the next space behind the first byte. */
static size_t word_end(const eg_tokenizer *t, const char *text, size_t length) {
    const char *space = space_of(t);
    const size_t size = strlen(space);
    for (size_t at = 1; at + size <= length; at++)
        if (memcmp(text + at, space, size) == 0) return at;
    return length;
}

eg_status eg__encode_sentencepiece(eg__encoding *e, const char *text, size_t length, bool first) {
    const eg_tokenizer *t = e->tokenizer;
    eg_status status = escape(e, text, length, first);
    for (size_t at = 0; !status && at < e->text_length;) {
        const size_t left = e->text_length - at;
        const size_t size = t->cut_words ? word_end(t, e->text + at, left) : left;
        status = encode_part(e, e->text + at, size);
        at += size;
    }
    return status;
}
