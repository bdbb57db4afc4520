/* A tokenizer.json of Hugging Face: vocabulary, added tokens, merges; json_rules has the rest. */
#include "formats/files/file.h"
#include "text/json_rules.h"

#include <stdio.h>
#include <string.h>

/* A token during loading: JSON objects are not ordered by id. */
typedef struct entry {
    const char *text;
    const json_t *added; /* its description, when it was added to the model's own */
} entry;

typedef struct loader {
    const json_t *root, *model, *vocab, *added;
    eg_tokenizer_kind kind;
    eg_tokenizer *tokenizer;
    entry *entries;
    size_t count, letters;
    const char *prefix; /* of pieces within words */
} loader;

static eg_status bad(eg_error *error, const char *what, const char *text) {
    char shown[64];
    return eg__fail(error, EG_ERR_FORMAT, "%s '%s'", what,
                    eg__file_quote(shown, sizeof shown, text, strlen(text)));
}

/* ---- which kind it is */
static eg_status refuse_model(const loader *l, eg_error *error) {
    static const char *const keys[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; l->kind != EG_TOKENIZER_WORDPIECE && i < sizeof keys / sizeof *keys; i++)
        if (*eg__json_text(l->model, keys[i]))
            return eg__fail(error, EG_ERR_UNSUPPORTED, "'%s' of '%.20s'", keys[i],
                            eg__json_text(l->model, keys[i]));
    if (json_number_value(json_object_get(l->model, "dropout")) > 0)
        return eg__fail(error, EG_ERR_UNSUPPORTED,
                        "'dropout' is not supported: the same text would give different "
                        "tokens");
    return EG_OK;
}

static eg_status read_kind(loader *l, eg_error *error) {
    char shown[40];
    l->model = json_object_get(l->root, "model");
    l->vocab = json_object_get(l->model, "vocab");
    l->added = json_object_get(l->root, "added_tokens");
    const char *type = eg__json_text(l->model, "type");
    /* older files do not say it */
    if (!*type) type = json_object_get(l->model, "merges") ? "BPE" : "WordPiece";
    if (strcmp(type, "WordPiece") == 0) l->kind = EG_TOKENIZER_WORDPIECE;
    else if (strcmp(type, "BPE") == 0)
        l->kind = eg__json_has_step(json_object_get(l->root, "pre_tokenizer"), "pretokenizers",
                                    "ByteLevel")
                      ? EG_TOKENIZER_BPE
                      : EG_TOKENIZER_SENTENCEPIECE;
    else
        return eg__fail(error, EG_ERR_UNSUPPORTED, "unknown kind '%s' of tokenizer",
                        eg__file_quote(shown, sizeof shown, type, strlen(type)));
    if (!json_is_object(l->vocab)) return eg__fail(error, EG_ERR_FORMAT, "no 'model.vocab'");
    if (l->added && !json_is_array(l->added) && !json_is_null(l->added))
        return eg__fail(error, EG_ERR_FORMAT, "'added_tokens' is not a list");
    l->prefix = eg__json_text(l->model, "continuing_subword_prefix");
    if (l->kind == EG_TOKENIZER_WORDPIECE && !*l->prefix) l->prefix = "##";
    return refuse_model(l, error);
}

/* ---- tokens by id */
#define EACH_TOKEN(l, at)                                                  \
    for (void *at = json_object_iter((json_t *)(uintptr_t)(l)->vocab); at; \
         at = json_object_iter_next((json_t *)(uintptr_t)(l)->vocab, at))

static eg_status read_id(const json_t *value, const char *text, size_t limit, size_t *out,
                         eg_error *error) {
    const json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < 0 || (uint64_t)id >= limit)
        return bad(error, "no id, or one out of all range, of token", text);
    *out = (size_t)id;
    return EG_OK;
}

/* The number of ids; holes are allowed, but not mostly holes. */
static eg_status measure(loader *l, eg_error *error) {
    const size_t tokens = json_object_size(l->vocab) + json_array_size(l->added);
    const size_t limit = 4 * tokens + 65536;
    size_t id = 0;
    eg_status status = EG_OK;
    EACH_TOKEN(l, at) {
        const char *text = json_object_iter_key(at);
        status = read_id(json_object_iter_value(at), text, limit, &id, error);
        if (status) return status;
        l->count = eg__max(l->count, id + 1);
        l->letters += strlen(text) + EG__SPACE_MARK_SIZE;
    }
    for (size_t i = 0; i < json_array_size(l->added); i++) {
        const json_t *added = json_array_get(l->added, i);
        const char *text = eg__json_text(added, "content");
        status = read_id(json_object_get(added, "id"), text, limit, &id, error);
        if (status) return status;
        l->count = eg__max(l->count, id + 1);
        l->letters += strlen(text);
    }
    return EG_OK;
}

static eg_status collect(loader *l, eg_error *error) {
    EACH_TOKEN(l, at) {
        const char *text = json_object_iter_key(at);
        entry *e = &l->entries[json_integer_value(json_object_iter_value(at))];
        if (e->text) return bad(error, "two tokens have the id of", text);
        e->text = text;
    }
    for (size_t i = 0; i < json_array_size(l->added); i++) {
        const json_t *added = json_array_get(l->added, i);
        const char *text = eg__json_text(added, "content");
        entry *e = &l->entries[json_integer_value(json_object_get(added, "id"))];
        if (!*text || e->added || (e->text && strcmp(e->text, text) != 0))
            return bad(error, "two tokens, or an empty one, have the id of", text);
        if (eg__json_flag(added, "single_word", false))
            return eg__fail(error, EG_ERR_UNSUPPORTED, "'single_word' of token '%.40s'", text);
        *e = (entry){text, added};
    }
    return EG_OK;
}

/* ---- the vocabulary */
/* Bytes are looked for by this name among the model's own tokens, also those that are listed as added. */
static bool falls_back(const loader *l, const char *text) {
    return l->kind == EG_TOKENIZER_SENTENCEPIECE &&
           eg__json_flag(l->model, "byte_fallback", false) &&
           eg__named_byte(text, strlen(text)) >= 0 && json_object_get(l->vocab, text) &&
           !strpbrk(text + 3, "abcdef");
}

static eg__token_kind kind_of(const loader *l, const entry *e) {
    const char *unknown = eg__json_text(l->model, "unk_token");
    if (*unknown && strcmp(e->text, unknown) == 0) return EG__TOKEN_UNKNOWN;
    if (e->added)
        return eg__json_flag(e->added, "special", false) ? EG__TOKEN_CONTROL : EG__TOKEN_USER;
    return falls_back(l, e->text) ? EG__TOKEN_BYTE : EG__TOKEN_NORMAL;
}

/* Converted to our form: BPE stores bytes, WordPiece marks the beginning of words, not their
 * continuation. */
static eg__token *add_text(loader *l, const char *text, eg__token_kind kind) {
    eg__vocabulary *v = &l->tokenizer->vocabulary;
    const size_t length = strlen(text), prefix = strlen(l->prefix);
    size_t size;
    if (kind != EG__TOKEN_NORMAL || l->kind == EG_TOKENIZER_SENTENCEPIECE)
        return eg__vocabulary_add(v, text, length, kind);
    if (l->kind == EG_TOKENIZER_WORDPIECE && strncmp(text, l->prefix, prefix) == 0)
        return eg__vocabulary_add(v, text + prefix, length - prefix, kind);
    if (l->kind == EG_TOKENIZER_BPE) {
        eg__token *token = eg__vocabulary_add(v, text, length, kind);
        char *to = token ? v->letters + token->start : NULL;
        if (token && eg__byte_letters(text, length, to, &size)) token->length = (uint32_t)size;
        else if (token) memcpy(to, text, length); /* stored as it is, without byte letters */
        return token;
    }
    eg__token *token = eg__vocabulary_add(v, EG__SPACE_MARK, EG__SPACE_MARK_SIZE, kind);
    if (!token || length > v->letters_room - v->used) return NULL;
    memcpy(v->letters + v->used, text, length);
    v->used += length;
    token->length += (uint32_t)length;
    return token;
}

static eg_status add_tokens(loader *l, eg_error *error) {
    eg_tokenizer *t = l->tokenizer;
    for (size_t id = 0; id < l->count; id++) {
        const entry *e = &l->entries[id];
        eg__token *token = e->text ? add_text(l, e->text, kind_of(l, e))
                                   : eg__vocabulary_add(&t->vocabulary, "", 0, EG__TOKEN_UNUSED);
        if (!token) return eg__fail(error, EG_ERR_FORMAT, "token '%zu' is too long", id);
        token->falls_back = e->text && falls_back(l, e->text);
        token->eats_left = e->added && eg__json_flag(e->added, "lstrip", false);
        token->eats_right = e->added && eg__json_flag(e->added, "rstrip", false);
        if (token->kind == EG__TOKEN_UNKNOWN) t->special[EG_SPECIAL_UNKNOWN] = (int64_t)id;
    }
    return eg__tokenizer_index(t, error);
}

/* "a b", or ["a", "b"] in newer files. */
static eg_status add_merges(loader *l, eg_error *error) {
    const json_t *merges = json_object_get(l->model, "merges");
    if (!json_is_array(merges)) return eg__fail(error, EG_ERR_FORMAT, "no list 'model.merges'");
    eg_tokenizer *t = l->tokenizer;
    eg_status status = eg__merges_open(&t->merges, t->memory, json_array_size(merges), error);
    for (size_t i = 0; !status && i < json_array_size(merges); i++) {
        const json_t *merge = json_array_get(merges, i);
        const char *text = json_string_value(merge);
        const char *left = text ? text : json_string_value(json_array_get(merge, 0));
        const char *space = text && *text ? strchr(text + 1, ' ') : NULL;
        const char *right = space ? space + 1 : json_string_value(json_array_get(merge, 1));
        if (!left || !right) return eg__fail(error, EG_ERR_FORMAT, "merge '%zu' is not a pair", i);
        const size_t length = space ? (size_t)(space - left) : strlen(left);
        status = eg__merges_add(t, left, length, right, strlen(right), error);
    }
    return status;
}

/* ---- special tokens, which the file does not name: those of the ends, and those of usual names */
static void name_specials(eg_tokenizer *t) {
    static const struct {
        const char *text;
        eg_special special;
    } names[] = {{"<s>", EG_SPECIAL_BEGIN},           {"<|begin_of_text|>", EG_SPECIAL_BEGIN},
                 {"<bos>", EG_SPECIAL_BEGIN},         {"</s>", EG_SPECIAL_END},
                 {"<|end_of_text|>", EG_SPECIAL_END}, {"<|endoftext|>", EG_SPECIAL_END},
                 {"<eos>", EG_SPECIAL_END},           {"[CLS]", EG_SPECIAL_CLASS},
                 {"[SEP]", EG_SPECIAL_SEPARATOR},     {"[PAD]", EG_SPECIAL_PADDING},
                 {"<pad>", EG_SPECIAL_PADDING},       {"[MASK]", EG_SPECIAL_MASK},
                 {"<mask>", EG_SPECIAL_MASK}};
    for (size_t i = 0; i < t->marked_count; i++) {
        const eg__token *token = &t->vocabulary.tokens[t->marked[i]];
        const char *text = eg__token_text(&t->vocabulary, t->marked[i]);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (token->kind != EG__TOKEN_USER && strlen(names[k].text) == token->length &&
                memcmp(names[k].text, text, token->length) == 0)
                t->special[names[k].special] = t->marked[i];
    }
}

static eg_status read_rules(loader *l, eg_error *error) {
    eg_tokenizer *t = l->tokenizer;
    const json_t *most = json_object_get(l->model, "max_input_chars_per_word");
    if (json_is_integer(most) && json_integer_value(most) >= 0)
        t->word_max = (size_t)json_integer_value(most);
    t->whole_words = eg__json_flag(l->model, "ignore_merges", false);
    t->fuse_unknown = eg__json_flag(l->model, "fuse_unk", false);
    t->plain_space = l->kind == EG_TOKENIZER_SENTENCEPIECE; /* until a rule says otherwise */
    t->named_bytes =
        l->kind == EG_TOKENIZER_SENTENCEPIECE &&
        eg__json_has_step(json_object_get(l->root, "decoder"), "decoders", "ByteFallback");
    eg_status status = eg__json_normalizer(t, json_object_get(l->root, "normalizer"), error);
    if (!status)
        status = eg__json_pre_tokenizer(t, json_object_get(l->root, "pre_tokenizer"), error);
    if (!status)
        status = eg__json_post_processor(t, json_object_get(l->root, "post_processor"), error);
    name_specials(t);
    return status;
}

static eg_status fill(loader *l, eg__memory *memory, eg_error *error) {
    eg_error mine = {0};
    l->entries = eg__memory_take_array(memory, EG_TAG_FILE, l->count, sizeof *l->entries, &mine);
    if (!l->entries) return eg__fail(error, mine.status, "%s", mine.message);
    eg_status status = collect(l, error);
    if (!status)
        status = eg__tokenizer_new(memory, l->kind, l->count, l->letters, &l->tokenizer, error);
    if (!status) status = add_tokens(l, error);
    if (!status) status = read_rules(l, error);
    if (!status && l->kind != EG_TOKENIZER_WORDPIECE) status = add_merges(l, error);
    eg__memory_give(memory, l->entries);
    return status;
}

eg_status eg__tokenizer_from_json(eg__memory *memory, const char *text, size_t length,
                                  eg_tokenizer **out, eg_error *error) {
    loader l = {0};
    *out = NULL;
    json_t *root;
    eg_status status = eg__json_read(memory, text, length, &root, error);
    if (status) return status;
    l.root = root;
    status = read_kind(&l, error);
    if (!status) status = measure(&l, error);
    if (!status) status = fill(&l, memory, error);
    json_decref(root);
    if (status) eg_tokenizer_destroy(l.tokenizer);
    else *out = l.tokenizer;
    return status;
}
