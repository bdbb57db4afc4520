/* The vocabulary in the metadata of GGUF: tokenizer.ggml.*, every list as long as the tokens. */
#include "formats/files/file.h"
#include "text/text.h"

#include <math.h>
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

static eg_status check_list(const eg_gguf *file, const char *key, size_t count, bool *there,
                            eg_error *error) {
    eg_gguf_entry entry;
    *there = !eg_gguf_entry_find(file, key, &entry, NULL);
    if (!*there) return EG_OK;
    if (!entry.is_array) return eg__fail(error, EG_ERR_FORMAT, "'%s' is not an array", key);
    if (entry.count != count)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' values of '%s' for %zu tokens",
                        (unsigned long long)entry.count, key, count);
    return EG_OK;
}

static bool read_flag(const eg_gguf *file, const char *key, bool otherwise) {
    int flag;
    return eg_gguf_flag(file, key, 0, &flag, NULL) ? otherwise : flag != 0;
}

/* ---- tokens */
static eg_status read_kind(const eg_gguf *file, size_t id, eg__token_kind *kind, eg_error *error) {
    int64_t value;
    eg_status status = eg_gguf_integer(file, KEY("token_type"), id, &value, error);
    if (status) return status;
    if (value < EG__TOKEN_NORMAL || value > EG__TOKEN_BYTE)
        return eg__fail(error, EG_ERR_FORMAT, "unknown type '%lld' of token '%zu'",
                        (long long)value, id);
    *kind = (eg__token_kind)value;
    return EG_OK;
}

/* BPE keeps bytes, not the letters that stand for them. */
static eg__token *add(eg_tokenizer *t, const char *text, size_t length, eg__token_kind kind) {
    eg__vocabulary *v = &t->vocabulary;
    eg__token *token = eg__vocabulary_add(v, text, length, kind);
    size_t size;
    if (token && t->kind == EG_TOKENIZER_BPE && kind == EG__TOKEN_NORMAL) {
        if (eg__byte_letters(text, length, v->letters + token->start, &size))
            token->length = (uint32_t)size;
        else memcpy(v->letters + token->start, text, length); /* no byte letters */
    }
    return token;
}

static eg_status add_tokens(eg_tokenizer *t, const eg_gguf *file, size_t count, eg_error *error) {
    bool kinds, scores;
    eg_status status = check_list(file, KEY("token_type"), count, &kinds, error);
    if (!status) status = check_list(file, KEY("scores"), count, &scores, error);
    if (!status && t->kind == EG_TOKENIZER_SENTENCEPIECE && !scores)
        return eg__fail(error, EG_ERR_FORMAT, "no '%s'", KEY("scores"));
    for (size_t id = 0; !status && id < count; id++) {
        const char *text;
        size_t length;
        double score = 0;
        eg__token_kind kind = EG__TOKEN_NORMAL;
        status = eg_gguf_text(file, KEY("tokens"), id, &text, &length, error);
        if (!status && kinds) status = read_kind(file, id, &kind, error);
        if (!status && scores) status = eg_gguf_number(file, KEY("scores"), id, &score, error);
        if (status) return status;
        if (isnan(score)) return eg__fail(error, EG_ERR_FORMAT, "score 'nan' of token '%zu'", id);
        eg__token *token = add(t, text, length, kind);
        if (!token) return eg__fail(error, EG_ERR_FORMAT, "token '%zu' is too long", id);
        token->score = (float)score;
    }
    return status;
}

static eg_status measure(const eg_gguf *file, size_t *count, size_t *letters, eg_error *error) {
    eg_gguf_entry entry;
    *count = *letters = 0;
    eg_status status = eg_gguf_entry_find(file, KEY("tokens"), &entry, error);
    if (status) return status;
    if (!entry.is_array || entry.count > SIZE_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'%s' is not an array", KEY("tokens"));
    *count = (size_t)entry.count;
    for (size_t id = 0; id < *count; id++) {
        const char *text;
        size_t length;
        status = eg_gguf_text(file, KEY("tokens"), id, &text, &length, error);
        if (status) return status;
        *letters += length; /* all lists come from one file */
    }
    return EG_OK;
}

/* ---- BPE */
static eg_status read_split(eg_tokenizer *t, const eg_gguf *file, eg_error *error) {
    const char *text;
    size_t length;
    char name[64];
    eg_status status = eg_gguf_text(file, KEY("pre"), 0, &text, &length, error);
    if (status) return status;
    eg__file_quote(name, sizeof name, text, length);
    if (!eg__split_find(name, &t->split, &t->whole_words))
        return eg__fail(error, EG_ERR_UNSUPPORTED, "unknown pre-tokenizer '%s'", name);
    return EG_OK;
}

static eg_status read_merges(eg_tokenizer *t, const eg_gguf *file, eg_error *error) {
    eg_gguf_entry entry;
    eg_status status = eg_gguf_entry_find(file, KEY("merges"), &entry, error);
    if (status) return status;
    if (!entry.is_array || entry.count > EG__TOKENS_MAX)
        return eg__fail(error, EG_ERR_FORMAT, "'%s' is not an array", KEY("merges"));
    status = eg__merges_open(&t->merges, t->memory, (size_t)entry.count, error);
    for (uint64_t i = 0; !status && i < entry.count; i++) {
        const char *text, *space;
        size_t length;
        status = eg_gguf_text(file, KEY("merges"), i, &text, &length, error);
        if (status) return status;
        space = length ? memchr(text + 1, ' ', length - 1) : NULL;
        if (!space)
            return eg__fail(error, EG_ERR_FORMAT, "merge '%llu' is not a pair",
                            (unsigned long long)i);
        const size_t left = (size_t)(space - text);
        status = eg__merges_add(t, text, left, space + 1, length - left - 1, error);
    }
    return status;
}

/* ---- special tokens */
static eg_status read_specials(eg_tokenizer *t, const eg_gguf *file, eg_error *error) {
    static const char *const keys[EG_SPECIAL_COUNT] = {
        KEY("bos_token_id"),       KEY("eos_token_id"), KEY("unknown_token_id"),
        KEY("seperator_token_id"), /* as the format spells it */
        KEY("padding_token_id"),   KEY("cls_token_id"), KEY("mask_token_id")};
    for (size_t i = 0; i < EG_SPECIAL_COUNT; i++) {
        int64_t id;
        eg_gguf_entry entry;
        if (eg_gguf_entry_find(file, keys[i], &entry, NULL)) continue;
        eg_status status = eg_gguf_integer(file, keys[i], 0, &id, error);
        if (status) return status;
        if (id == UINT32_MAX || id == -1) continue; /* writers use it for "none" */
        if (id < 0)
            return eg__fail(error, EG_ERR_FORMAT, "'%s' is '%lld', which is not a token", keys[i],
                            (long long)id);
        t->special[i] = id;
    }
    return eg__tokenizer_check(t, error);
}

static void read_ends(eg_tokenizer *t, const eg_gguf *file) {
    const bool words = t->kind == EG_TOKENIZER_WORDPIECE;
    const bool begins = t->kind != EG_TOKENIZER_BPE || t->whole_words;
    const int64_t class = t->special[EG_SPECIAL_CLASS],
                  separator = t->special[EG_SPECIAL_SEPARATOR];
    const int64_t begin = words && class >= 0 ? class : t->special[EG_SPECIAL_BEGIN];
    const int64_t end = words && separator >= 0 ? separator : t->special[EG_SPECIAL_END];
    if (begin >= 0 && read_flag(file, KEY("add_bos_token"), begins))
        t->before[t->before_count++] = (uint32_t)begin;
    if (end >= 0 && read_flag(file, KEY("add_eos_token"), words))
        t->after[t->after_count++] = (uint32_t)end;
}

static eg_status fill(eg_tokenizer *t, const eg_gguf *file, size_t count, eg_error *error) {
    eg_status status = add_tokens(t, file, count, error);
    if (!status) status = eg__tokenizer_index(t, error);
    if (!status) status = read_specials(t, file, error);
    if (status) return status;
    const bool space =
        read_flag(file, KEY("add_space_prefix"), t->kind == EG_TOKENIZER_SENTENCEPIECE);
    t->prefix = space && t->kind != EG_TOKENIZER_WORDPIECE ? EG__PREFIX_ALWAYS : EG__PREFIX_NEVER;
    t->clean = t->chinese = true;
    t->lower = read_flag(file, KEY("normalizer.lowercase"), true);
    t->strip = read_flag(file, KEY("normalizer.strip_accents"), t->lower);
    if (t->kind == EG_TOKENIZER_BPE) status = read_split(t, file, error);
    if (!status && t->kind == EG_TOKENIZER_BPE) status = read_merges(t, file, error);
    read_ends(t, file);
    return status;
}

eg_status eg__tokenizer_from_gguf(eg__memory *memory, const eg_gguf *file, eg_tokenizer **out,
                                  eg_error *error) {
    static const char *const models[] = {"gpt2", "llama", "bert"}; /* by kind */
    const char *model;
    size_t length, count, letters, kind = 0;
    char name[32];
    *out = NULL;
    eg_status status = eg_gguf_text(file, KEY("model"), 0, &model, &length, error);
    if (status) return status;
    eg__file_quote(name, sizeof name, model, length);
    while (kind < 3 && strcmp(models[kind], name) != 0) kind++;
    if (kind == 3)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "unknown kind '%s' of tokenizer", name);
    status = measure(file, &count, &letters, error);
    if (status) return status;
    eg_tokenizer *t;
    status = eg__tokenizer_new(memory, (eg_tokenizer_kind)kind, count, letters, &t, error);
    if (status) return status;
    status = fill(t, file, count, error);
    if (status) eg_tokenizer_destroy(t);
    else *out = t;
    return status;
}
