/* Tokenizers: creation, index of the tokens, queries, destruction. */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

const char *eg_tokenizer_kind_name(eg_tokenizer_kind kind) {
    static const char *const names[] = {"bpe", "sentencepiece", "wordpiece"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

const char *eg_special_name(eg_special special) {
    static const char *const names[] = {
#define NAME(name, text) text,
        EG_SPECIAL_MAP(NAME)
#undef NAME
    };
    return (unsigned)special < EG_SPECIAL_COUNT ? names[special] : NULL;
}

eg_status eg__tokenizer_new(eg__memory *memory, eg_tokenizer_kind kind, size_t tokens,
                            size_t letters, eg_tokenizer **out, eg_error *error) {
    eg_error mine = {0};
    *out = NULL;
    if (kind != EG_TOKENIZER_SENTENCEPIECE) {
        eg_status status = eg__unicode_check(eg_tokenizer_kind_name(kind), error);
        if (status) return status;
    }
    eg_tokenizer *t = eg__memory_take_zeroed(memory, EG_TAG_FILE, sizeof *t, &mine);
    if (!t) return eg__fail(error, mine.status, "%s", mine.message);
    t->memory = memory;
    t->kind = kind;
    t->word_max = 100;
    for (size_t i = 0; i < EG_SPECIAL_COUNT; i++) t->special[i] = EG__NO_TOKEN;
    for (size_t i = 0; i < 256; i++) t->bytes[i] = EG__NO_TOKEN;
    eg_status status = eg__vocabulary_open(&t->vocabulary, memory, tokens, letters, error);
    if (status) eg_tokenizer_destroy(t);
    else *out = t;
    return status;
}

void eg_tokenizer_destroy(eg_tokenizer *tokenizer) {
    if (!tokenizer) return;
    eg__memory *memory = tokenizer->memory;
    eg__vocabulary_close(&tokenizer->vocabulary, memory);
    eg__memory_give(memory, tokenizer->marked);
    eg__memory_give(memory, tokenizer->merges.slots);
    eg__memory_give(memory, tokenizer);
}

/* ---- after the last token */

int eg__named_byte(const char *text, size_t length) {
    static const char digits[] = "0123456789ABCDEFabcdef";
    int byte = 0;
    if (length != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    for (unsigned i = 3; i < 5; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) return -1;
        const int value = (int)(digit - digits);
        byte = 16 * byte + (value < 16 ? value : value - 6);
    }
    return byte;
}

static void index_bytes(eg_tokenizer *t) {
    const eg__vocabulary *v = &t->vocabulary;
    if (t->kind == EG_TOKENIZER_BPE)
        for (int byte = 0; byte < 256; byte++)
            t->bytes[byte] = eg__vocabulary_find(v, &(char){(char)byte}, 1);
    if (t->kind != EG_TOKENIZER_SENTENCEPIECE) return;
    for (size_t id = 0; id < v->count; id++) {
        if (v->tokens[id].kind != EG__TOKEN_BYTE && !v->tokens[id].falls_back) continue;
        const int byte = eg__named_byte(v->letters + v->tokens[id].start, v->tokens[id].length);
        if (byte >= 0) t->bytes[byte] = (int64_t)id;
    }
}

static bool is_marked(const eg__token *token) {
    return token->length && (token->kind == EG__TOKEN_CONTROL || token->kind == EG__TOKEN_USER ||
                             token->kind == EG__TOKEN_UNKNOWN);
}

/* The sort order of tokens matched before splitting. */
typedef struct marked_key {
    uint32_t id, length;
    unsigned char first;
} marked_key;

static int compare_marked(const void *a, const void *b) {
    const marked_key *left = a, *right = b;
    if (left->first != right->first) return left->first < right->first ? -1 : 1;
    if (left->length != right->length) return left->length > right->length ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

static eg_status index_marked(eg_tokenizer *t, eg_error *error) {
    const eg__vocabulary *v = &t->vocabulary;
    eg_error mine = {0};
    size_t count = 0;
    for (size_t id = 0; id < v->count; id++) count += is_marked(&v->tokens[id]);
    marked_key *keys = eg__memory_take_array(t->memory, EG_TAG_FILE, count, sizeof *keys, &mine);
    if (keys)
        t->marked = eg__memory_take_array(t->memory, EG_TAG_FILE, count, sizeof *t->marked, &mine);
    if (!t->marked) {
        eg__memory_give(t->memory, keys);
        return eg__fail(error, mine.status, "%s", mine.message);
    }
    for (size_t id = 0; id < v->count; id++)
        if (is_marked(&v->tokens[id]))
            keys[t->marked_count++] = (marked_key){(uint32_t)id, v->tokens[id].length,
                                                   (unsigned char)v->letters[v->tokens[id].start]};
    qsort(keys, count, sizeof *keys, compare_marked);
    for (size_t i = 0, byte = 0; byte <= 256; byte++) {
        while (i < count && keys[i].first < byte) i++;
        t->marked_from[byte] = i;
    }
    for (size_t i = 0; i < count; i++) t->marked[i] = keys[i].id;
    eg__memory_give(t->memory, keys);
    return EG_OK;
}

eg_status eg__tokenizer_index(eg_tokenizer *t, eg_error *error) {
    eg_status status = eg__vocabulary_index(&t->vocabulary, t->memory, error);
    if (status) return status;
    index_bytes(t);
    return index_marked(t, error);
}

eg_status eg__tokenizer_check(const eg_tokenizer *t, eg_error *error) {
    for (size_t i = 0; i < EG_SPECIAL_COUNT; i++)
        if (t->special[i] >= (int64_t)t->vocabulary.count)
            return eg__fail(error, EG_ERR_FORMAT, "id '%lld' of the %s token is not below %zu",
                            (long long)t->special[i], eg_special_name((eg_special)i),
                            t->vocabulary.count);
    return EG_OK;
}

/* ---- questions */
eg_tokenizer_kind eg_tokenizer_kind_get(const eg_tokenizer *tokenizer) { return tokenizer->kind; }

size_t eg_tokenizer_size(const eg_tokenizer *tokenizer) {
    return tokenizer ? tokenizer->vocabulary.count : 0;
}

const char *eg_tokenizer_piece(const eg_tokenizer *tokenizer, uint32_t id, size_t *length) {
    const bool there = id < eg_tokenizer_size(tokenizer);
    if (length) *length = there ? tokenizer->vocabulary.tokens[id].length : 0;
    return there ? eg__token_text(&tokenizer->vocabulary, id) : NULL;
}

int eg_tokenizer_is_special(const eg_tokenizer *tokenizer, uint32_t id) {
    if (id >= eg_tokenizer_size(tokenizer)) return 0;
    const uint8_t kind = tokenizer->vocabulary.tokens[id].kind;
    return kind == EG__TOKEN_CONTROL || kind == EG__TOKEN_UNKNOWN;
}

int64_t eg_tokenizer_special(const eg_tokenizer *tokenizer, eg_special special) {
    return tokenizer && (unsigned)special < EG_SPECIAL_COUNT ? tokenizer->special[special]
                                                             : EG__NO_TOKEN;
}
