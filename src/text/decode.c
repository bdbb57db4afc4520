/* Ids to text, one after the other; only whole characters leave the decoder. */
#include "text/text.h"

#include <string.h>

/* A byte that a token of SentencePiece stands for: "<0x0A>"; -1 = none. */
static int byte_of(const eg_tokenizer *t, uint32_t id) {
    const eg__token *token = &t->vocabulary.tokens[id];
    if (token->kind != EG__TOKEN_BYTE && !t->named_bytes) return -1;
    return eg__named_byte(eg__token_text(&t->vocabulary, id), token->length);
}

/* Appends bytes of a token to `out` while there is room, and counts them. */
typedef struct sink {
    char *out;
    size_t capacity, length;
} sink;

static void put(sink *s, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (s->length < s->capacity) s->out[s->length] = bytes[i];
        s->length++;
    }
}

/* The mark of a space becomes a space; the one that encoding put at the start of the text is
 * dropped. */
static void put_marked(const eg_tokenizer *t, const char *text, size_t length, bool begun,
                       sink *out) {
    const bool dropped = !begun && (t->kind == EG_TOKENIZER_WORDPIECE || t->prefix);
    for (size_t at = 0; at < length;) {
        const bool mark = t->plain_space ? text[at] == ' '
                                         : length - at >= EG__SPACE_MARK_SIZE &&
                                               memcmp(text + at, EG__SPACE_MARK, 3) == 0;
        if (!mark) put(out, text + at, 1);
        else if (at || !dropped) put(out, " ", 1);
        at += mark && !t->plain_space ? EG__SPACE_MARK_SIZE : 1;
    }
}

/* The bytes of a token, as they follow what came before. */
static void put_token(const eg_tokenizer *t, const eg_decoder *decoder, uint32_t id, sink *out) {
    const eg__token *token = &t->vocabulary.tokens[id];
    const char *text = eg__token_text(&t->vocabulary, id);
    const int byte = byte_of(t, id);
    if (eg_tokenizer_is_special(t, id) && !decoder->special) return;
    if (byte >= 0) put(out, &(char){(char)byte}, 1);
    else if (eg_tokenizer_is_special(t, id)) put(out, text, token->length);
    else if (t->kind == EG_TOKENIZER_BPE) put(out, text, token->length);
    else put_marked(t, text, token->length, decoder->begun, out);
}

/* How many bytes at the end begin a character that the next tokens may complete. */
static size_t incomplete(const char *text, size_t length) {
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        const unsigned char c = (unsigned char)text[length - back];
        if ((c & 0xc0) == 0x80) continue;
        const size_t whole = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : 2;
        return c >= 0xc2 && c <= 0xf4 && back < whole ? back : 0;
    }
    return 0;
}

eg_status eg_tokenizer_decode(const eg_tokenizer *tokenizer, eg_decoder *decoder, uint32_t id,
                              char *out, size_t capacity, size_t *length, eg_error *error) {
    if (length) *length = 0;
    if (!tokenizer || !decoder || !length || (capacity && !out) || decoder->held_count > 4)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no tokenizer, no decoder or no output pointer for text");
    if (id >= tokenizer->vocabulary.count)
        return eg__fail(error, EG_ERR_ARGUMENT, "id '%u' is not below %zu", id,
                        tokenizer->vocabulary.count);
    sink s = {out, capacity, 0};
    put(&s, decoder->held, decoder->held_count);
    put_token(tokenizer, decoder, id, &s);
    if (s.length > capacity) {
        *length = s.length;
        return eg__fail(error, EG_ERR_OVERFLOW, "text of '%zu' bytes, room for %zu", s.length,
                        capacity);
    }
    const size_t held = incomplete(out, s.length);
    if (held) memcpy(decoder->held, out + s.length - held, held);
    decoder->held_count = (unsigned)held;
    if (!eg_tokenizer_is_special(tokenizer, id)) decoder->begun = 1;
    *length = s.length - held;
    return EG_OK;
}

size_t eg_decoder_finish(eg_decoder *decoder, char out[4]) {
    const size_t count = decoder->held_count;
    memcpy(out, decoder->held, sizeof decoder->held);
    decoder->held_count = 0;
    decoder->begun = 0;
    return count;
}
