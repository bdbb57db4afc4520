/* Vocabularies as llama2.c writes them: the longest length, then score, length and text of each token. */
#include "formats/files/bytes.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The ids are fixed there: 0 unknown, 1 begin, 2 end, then a token for each byte. */
enum { HEAD_SIZE = 4, TOKEN_SIZE = 8, BEGIN = 1, END = 2, FIRST_BYTE = 3, TOKENS_MIN = 3 + 256 };

static eg_status count_tokens(const unsigned char *bytes, size_t size, size_t *count,
                              eg_error *error) {
    *count = 0;
    if (size < HEAD_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "'%zu' bytes are not a vocabulary of llama2.c", size);
    const uint32_t longest = eg__get32(bytes);
    for (size_t at = HEAD_SIZE; at < size; ++*count) {
        if (size - at < TOKEN_SIZE)
            return eg__fail(error, EG_ERR_FORMAT,
                            "not a vocabulary of llama2.c: it ends within token '%zu'", *count);
        const uint32_t length = eg__get32(bytes + at + 4);
        at += TOKEN_SIZE;
        if (length > longest || length > size - at)
            return eg__fail(error, EG_ERR_FORMAT,
                            "not a vocabulary of llama2.c: token '%zu' has '%u' bytes, but "
                            "%zu are left and %u allowed",
                            *count, length, size - at, longest);
        at += length;
    }
    if (*count < TOKENS_MIN)
        return eg__fail(error, EG_ERR_FORMAT, "'%zu' tokens are fewer than %d", *count, TOKENS_MIN);
    return EG_OK;
}

static eg_status add(eg_tokenizer *t, const unsigned char *at, eg_error *error) {
    static const char *const names[] = {"<unk>", "<s>", "</s>"};
    static const eg__token_kind kinds[] = {EG__TOKEN_UNKNOWN, EG__TOKEN_CONTROL, EG__TOKEN_CONTROL};
    const size_t id = t->vocabulary.count;
    const char *text = (const char *)at + TOKEN_SIZE;
    size_t length = eg__get32(at + 4);
    char byte[8];
    float score;
    memcpy(&score, at, sizeof score);
    if (isnan(score)) return eg__fail(error, EG_ERR_FORMAT, "score 'nan' of token '%zu'", id);
    eg__token_kind kind = EG__TOKEN_NORMAL;
    if (id < FIRST_BYTE) { /* the file has line breaks around these names */
        text = names[id];
        length = strlen(text);
        kind = kinds[id];
    } else if (id < TOKENS_MIN) {
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)(id - FIRST_BYTE));
        text = byte;
        length = 6;
        kind = EG__TOKEN_BYTE;
    }
    eg__token *token = eg__vocabulary_add(&t->vocabulary, text, length, kind);
    if (!token) return eg__fail(error, EG_ERR_FORMAT, "token '%zu' is too long", id);
    token->score = score;
    return EG_OK;
}

eg_status eg__tokenizer_from_llama2c(eg__memory *memory, const void *bytes, size_t length,
                                     eg_tokenizer **out, eg_error *error) {
    const unsigned char *start = bytes;
    size_t count;
    *out = NULL;
    eg_status status = count_tokens(start, length, &count, error);
    if (status) return status;
    eg_tokenizer *t;
    /* the names that replace the file's own need a little more */
    status = eg__tokenizer_new(memory, EG_TOKENIZER_SENTENCEPIECE, count,
                               length + (size_t)8 * TOKENS_MIN, &t, error);
    if (status) return status;
    const unsigned char *at = start + HEAD_SIZE;
    for (size_t i = 0; !status && i < count; i++) {
        status = add(t, at, error);
        at += TOKEN_SIZE + eg__get32(at + 4);
    }
    t->plain_space = true;
    t->prefix = EG__PREFIX_FIRST;
    t->special[EG_SPECIAL_UNKNOWN] = 0;
    t->special[EG_SPECIAL_BEGIN] = t->before[0] = BEGIN;
    t->special[EG_SPECIAL_END] = END;
    t->before_count = 1;
    if (!status) status = eg__tokenizer_index(t, error);
    if (status) eg_tokenizer_destroy(t);
    else *out = t;
    return status;
}
