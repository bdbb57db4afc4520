/* Tokens by id and by text: one block of letters, and a table of those that text can become. */
#include "text/text.h"

#include <string.h>

eg_status eg__vocabulary_open(eg__vocabulary *v, eg__memory *memory, size_t tokens, size_t letters,
                              eg_error *error) {
    eg_error mine = {0};
    memset(v, 0, sizeof *v);
    if (!tokens || tokens > EG__TOKENS_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'%zu' tokens are not within 1..%d", tokens,
                        EG__TOKENS_MAX);
    v->tokens = eg__memory_take_array(memory, EG_TAG_FILE, tokens, sizeof *v->tokens, &mine);
    if (v->tokens) v->letters = eg__memory_take(memory, EG_TAG_FILE, letters, &mine);
    if (mine.status) return eg__fail(error, mine.status, "%s", mine.message);
    v->room = tokens;
    v->letters_room = letters;
    return EG_OK;
}

void eg__vocabulary_close(eg__vocabulary *v, eg__memory *memory) {
    eg__memory_give(memory, v->tokens);
    eg__memory_give(memory, v->letters);
    eg__memory_give(memory, v->slots);
}

eg__token *eg__vocabulary_add(eg__vocabulary *v, const char *text, size_t length,
                              eg__token_kind kind) {
    if (v->count == v->room || length > v->letters_room - v->used || length > UINT32_MAX)
        return NULL;
    eg__token *token = &v->tokens[v->count++];
    *token = (eg__token){.start = v->used, .length = (uint32_t)length, .kind = (uint8_t)kind};
    if (length) memcpy(v->letters + v->used, text, length);
    v->used += length;
    return token;
}

/* Special tokens and byte tokens do not match text. */
static bool is_text(const eg__token *token) {
    return token->length && (token->kind == EG__TOKEN_NORMAL || token->kind == EG__TOKEN_USER);
}

static uint32_t *find_slot(const eg__vocabulary *v, const char *text, size_t length) {
    size_t at = (size_t)eg__hash(EG__HASH_SEED, text, length) & (v->slot_count - 1);
    for (; v->slots[at]; at = (at + 1) & (v->slot_count - 1)) {
        const eg__token *token = &v->tokens[v->slots[at] - 1];
        if (token->length == length && memcmp(v->letters + token->start, text, length) == 0) break;
    }
    return &v->slots[at];
}

eg_status eg__vocabulary_index(eg__vocabulary *v, eg__memory *memory, eg_error *error) {
    eg_error mine = {0};
    for (v->slot_count = 16; v->slot_count < 2 * v->count;) v->slot_count *= 2;
    v->slots = eg__memory_take_array(memory, EG_TAG_FILE, v->slot_count, sizeof *v->slots, &mine);
    if (!v->slots) return eg__fail(error, mine.status, "%s", mine.message);
    for (size_t id = 0; id < v->count; id++) {
        const eg__token *token = &v->tokens[id];
        if (!is_text(token)) continue;
        *find_slot(v, v->letters + token->start, token->length) = (uint32_t)id + 1;
        v->longest = eg__max(v->longest, token->length);
    }
    return EG_OK;
}

int64_t eg__vocabulary_find(const eg__vocabulary *v, const char *text, size_t length) {
    if (!length || length > v->longest) return EG__NO_TOKEN;
    return (int64_t)*find_slot(v, text, length) - 1;
}
