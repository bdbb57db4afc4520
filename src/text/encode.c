/* Text to ids: finds special tokens first, then tokenizes the text between them. */
#include "base/abi.h"
#include "text/text.h"

#include <string.h>

static eg_status no_memory(eg__encoding *e) {
    return eg__fail(e->error, EG_ERR_MEMORY, "no memory for '%zu' tokens", e->count);
}

eg_status eg__encoding_add(eg__encoding *e, uint32_t id) {
    void *ids = e->ids;
    if (!eg__memory_grow(e->memory, EG_TAG_OTHER, &ids, e->count, &e->room, 1, sizeof *e->ids))
        return no_memory(e);
    e->ids = ids;
    e->ids[e->count++] = id;
    return EG_OK;
}

eg_status eg__encoding_add_text(eg__encoding *e, const char *text, size_t length) {
    void *block = e->text;
    if (!eg__memory_grow(e->memory, EG_TAG_OTHER, &block, e->text_length, &e->text_room, length, 1))
        return no_memory(e);
    e->text = block;
    if (length) memcpy(e->text + e->text_length, text, length);
    e->text_length += length;
    return EG_OK;
}

eg_status eg__encoding_add_bytes(eg__encoding *e, const char *text, size_t length) {
    const eg_tokenizer *t = e->tokenizer;
    const int64_t unknown = t->special[EG_SPECIAL_UNKNOWN];
    bool known = true;
    eg_status status = EG_OK;
    for (size_t i = 0; i < length; i++) known = known && t->bytes[(unsigned char)text[i]] >= 0;
    if (!known && unknown < 0)
        return eg__fail(e->error, EG_ERR_NOT_FOUND,
                        "no token for byte '0x%02x', and no unknown token", (unsigned char)text[0]);
    if (!known && t->fuse_unknown && e->count && e->ids[e->count - 1] == unknown) return EG_OK;
    if (!known) return eg__encoding_add(e, (uint32_t)unknown);
    for (size_t i = 0; !status && i < length; i++)
        status = eg__encoding_add(e, (uint32_t)t->bytes[(unsigned char)text[i]]);
    return status;
}

/* The longest special token that matches here; EG__NO_TOKEN = none. */
static int64_t marked_at(const eg_tokenizer *t, const char *text, size_t length, bool special) {
    const unsigned char first = (unsigned char)text[0];
    for (size_t i = t->marked_from[first]; i < t->marked_from[first + 1]; i++) {
        const eg__token *token = &t->vocabulary.tokens[t->marked[i]];
        if (token->length > length || (token->kind != EG__TOKEN_USER && !special)) continue;
        if (memcmp(t->vocabulary.letters + token->start, text, token->length) == 0)
            return t->marked[i];
    }
    return EG__NO_TOKEN;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static eg_status encode_between(eg__encoding *e, const char *text, size_t length, bool first) {
    if (!length) return EG_OK;
    switch (e->tokenizer->kind) {
    case EG_TOKENIZER_BPE: return eg__encode_bpe(e, text, length, first);
    case EG_TOKENIZER_SENTENCEPIECE: return eg__encode_sentencepiece(e, text, length, first);
    default: return eg__encode_wordpiece(e, text, length);
    }
}

static eg_status encode_all(eg__encoding *e, const char *text, size_t length, bool special) {
    const eg_tokenizer *t = e->tokenizer;
    size_t from = 0, at = 0;
    eg_status status = EG_OK;
    while (!status && at < length) {
        const int64_t id = marked_at(t, text + at, length - at, special);
        if (id < 0) {
            at++;
            continue;
        }
        const eg__token *token = &t->vocabulary.tokens[id];
        size_t end = at;
        while (token->eats_left && end > from && is_space(text[end - 1])) end--;
        status = encode_between(e, text + from, end - from, from == 0);
        if (!status) status = eg__encoding_add(e, (uint32_t)id);
        at += token->length;
        while (token->eats_right && at < length && is_space(text[at])) at++;
        from = at;
    }
    return status ? status : encode_between(e, text + from, length - from, from == 0);
}

static eg_status encode(eg__encoding *e, const char *text, size_t length,
                        const eg_encode_options *options) {
    const eg_tokenizer *t = e->tokenizer;
    eg_status status = EG_OK;
    for (unsigned i = 0; options->ends && !status && i < t->before_count; i++)
        status = eg__encoding_add(e, t->before[i]);
    if (!status) status = encode_all(e, text, length, options->special != 0);
    for (unsigned i = 0; options->ends && !status && i < t->after_count; i++)
        status = eg__encoding_add(e, t->after[i]);
    return status;
}

eg_status eg_tokenizer_encode(const eg_tokenizer *tokenizer, const char *text, size_t length,
                              const eg_encode_options *options, eg_tokens *out, eg_error *error) {
    eg_encode_options kept;
    if (out) *out = (eg_tokens){NULL, 0};
    if (!tokenizer || !out || (length && !text))
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no tokenizer, no text or no output pointer for tokens");
    eg__encoding e = {.tokenizer = tokenizer, .memory = tokenizer->memory, .error = error};
    eg_status status = EG__OPTIONS(eg_encode_options, &kept, options, error);
    if (!status) status = encode(&e, text, length, &kept);
    eg__memory_give(e.memory, e.text);
    eg__memory_give(e.memory, e.symbols);
    eg__memory_give(e.memory, e.pairs);
    if (status) eg__memory_give(e.memory, e.ids);
    else *out = (eg_tokens){e.ids, e.count};
    return status;
}

void eg_tokens_release(const eg_tokenizer *tokenizer, eg_tokens *tokens) {
    if (!tokenizer || !tokens) return;
    eg__memory_give(tokenizer->memory, tokens->ids);
    *tokens = (eg_tokens){NULL, 0};
}
