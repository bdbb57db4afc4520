/* Byte-level BPE: words of bytes, joined by merges. */
#include "text/text.h"

#include <string.h>

static eg_status encode_word(eg__encoding *e, const char *word, size_t length) {
    const eg_tokenizer *t = e->tokenizer;
    if (t->whole_words) {
        const int64_t id = eg__vocabulary_find(&t->vocabulary, word, length);
        if (id >= 0) return eg__encoding_add(e, (uint32_t)id);
    }
    eg_status status = eg__merge_begin(e, length);
    if (status) return status;
    for (size_t i = 0; i < length; i++) eg__merge_symbol(e, i, 1, t->bytes[(unsigned char)word[i]]);
    eg__merge_run(e, word);
    for (size_t i = 0; !status && i < length; i++) {
        const eg__symbol *symbol = &e->symbols[i];
        if (!symbol->length) continue;
        status = symbol->id >= 0 ? eg__encoding_add(e, (uint32_t)symbol->id)
                                 : eg__encoding_add_bytes(e, word + i, 1);
    }
    return status;
}

static eg_status encode_words(eg__encoding *e, const char *text, size_t length) {
    eg_status status = EG_OK;
    for (size_t at = 0; !status && at < length;) {
        const size_t size = eg__split_next(e->tokenizer->split, text + at, length - at);
        status = encode_word(e, text + at, size);
        at += size;
    }
    return status;
}

eg_status eg__encode_bpe(eg__encoding *e, const char *text, size_t length, bool first) {
    const eg_tokenizer *t = e->tokenizer;
    char *composed = NULL;
    eg_status status = EG_OK;
    if (t->compose) {
        size_t composed_length;
        status =
            eg__unicode_compose(e->memory, text, length, &composed, &composed_length, e->error);
        if (composed) {
            text = composed;
            length = composed_length;
        }
    }
    const bool space = t->prefix == EG__PREFIX_ALWAYS || (t->prefix == EG__PREFIX_FIRST && first);
    if (!status && space && !(t->prefix_once && text[0] == ' ')) {
        e->text_length = 0;
        status = eg__encoding_add_text(e, " ", 1);
        if (!status) status = eg__encoding_add_text(e, text, length);
        if (!status) status = encode_words(e, e->text, e->text_length);
    } else if (!status) status = encode_words(e, text, length);
    eg__memory_give(e->memory, composed);
    return status;
}
