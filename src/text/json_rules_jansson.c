/* The rules of a tokenizer.json: normalizer, pre-tokenizer, post-processor. */
#include "formats/files/file.h"
#include "text/json_rules.h"

#include <string.h>

typedef eg_status step_reader(eg_tokenizer *t, const json_t *step, eg_error *error);

static eg_status refuse(const eg_tokenizer *t, const char *what, const char *type,
                        eg_error *error) {
    char shown[64];
    return eg__fail(error, EG_ERR_UNSUPPORTED, "%s '%s' for a tokenizer of kind '%s'", what,
                    eg__file_quote(shown, sizeof shown, type, strlen(type)),
                    eg_tokenizer_kind_name(t->kind));
}

static eg_status each(eg_tokenizer *t, const json_t *list, step_reader *read, eg_error *error) {
    eg_status status = EG_OK;
    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read(t, json_array_get(list, i), error);
    return status;
}

bool eg__json_has_step(const json_t *step, const char *list, const char *type) {
    if (strcmp(eg__json_text(step, "type"), type) == 0) return true;
    const json_t *steps = json_object_get(step, list);
    for (size_t i = 0; i < json_array_size(steps); i++)
        if (strcmp(eg__json_text(json_array_get(steps, i), "type"), type) == 0) return true;
    return false;
}

/* ---- before: what becomes of the text */
static void read_bert(eg_tokenizer *t, const json_t *step) {
    t->clean = eg__json_flag(step, "clean_text", true);
    t->chinese = eg__json_flag(step, "handle_chinese_chars", true);
    t->lower = eg__json_flag(step, "lowercase", true);
    t->strip = eg__json_flag(step, "strip_accents", t->lower); /* null means: as lowercase */
}

eg_status eg__json_normalizer(eg_tokenizer *t, const json_t *step, eg_error *error) {
    if (!step || json_is_null(step)) return EG_OK;
    const char *type = eg__json_text(step, "type");
    const bool pieces = t->kind == EG_TOKENIZER_SENTENCEPIECE;
    if (strcmp(type, "Sequence") == 0)
        return each(t, json_object_get(step, "normalizers"), eg__json_normalizer, error);
    if (strcmp(type, "BertNormalizer") == 0 && t->kind == EG_TOKENIZER_WORDPIECE)
        read_bert(t, step);
    else if (strcmp(type, "Lowercase") == 0 && t->kind == EG_TOKENIZER_WORDPIECE) t->lower = true;
    else if (strcmp(type, "NFC") == 0 && t->kind == EG_TOKENIZER_BPE) t->compose = true;
    else if (strcmp(type, "Prepend") == 0 && pieces &&
             strcmp(eg__json_text(step, "prepend"), EG__SPACE_MARK) == 0)
        t->prefix = EG__PREFIX_ALWAYS;
    else if (strcmp(type, "Replace") == 0 && pieces &&
             strcmp(eg__json_text(json_object_get(step, "pattern"), "String"), " ") == 0 &&
             strcmp(eg__json_text(step, "content"), EG__SPACE_MARK) == 0)
        t->plain_space = false;
    else return refuse(t, "unknown normalizer", type, error);
    return EG_OK;
}

/* ---- words */
static eg_status read_metaspace(eg_tokenizer *t, const json_t *step, eg_error *error) {
    const char *scheme = eg__json_text(step, "prepend_scheme");
    const char *mark = eg__json_text(step, "replacement");
    if (strcmp(mark, EG__SPACE_MARK) != 0) return refuse(t, "unknown mark", mark, error);
    if (!*scheme) scheme = eg__json_flag(step, "add_prefix_space", true) ? "always" : "never";
    t->prefix = strcmp(scheme, "always") == 0  ? EG__PREFIX_ALWAYS
                : strcmp(scheme, "first") == 0 ? EG__PREFIX_FIRST
                                               : EG__PREFIX_NEVER;
    t->prefix_once = true;
    t->plain_space = false;
    t->cut_words = eg__json_flag(step, "split", true);
    return EG_OK;
}

static eg_status read_split(eg_tokenizer *t, const json_t *step, eg_error *error) {
    const char *pattern = eg__json_text(json_object_get(step, "pattern"), "Regex");
    if (strcmp(eg__json_text(step, "behavior"), "Isolated") != 0 ||
        eg__json_flag(step, "invert", false) || !eg__split_find_pattern(pattern, &t->split))
        return refuse(t, "unknown pattern", pattern, error);
    return EG_OK;
}

static eg_status read_byte_level(eg_tokenizer *t, const json_t *step, eg_error *error) {
    (void)error;
    if (eg__json_flag(step, "use_regex", true)) t->split = EG__SPLIT_GPT2;
    if (eg__json_flag(step, "add_prefix_space", true)) t->prefix = EG__PREFIX_ALWAYS;
    t->prefix_once = true;
    return EG_OK;
}

/* One pattern must cut the words, and one alone. */
static size_t count_splits(const json_t *step) {
    const char *type = eg__json_text(step, "type");
    const json_t *list = json_object_get(step, "pretokenizers");
    size_t count = strcmp(type, "Split") == 0 ||
                   (strcmp(type, "ByteLevel") == 0 && eg__json_flag(step, "use_regex", true));
    for (size_t i = 0; i < json_array_size(list); i++)
        count += count_splits(json_array_get(list, i));
    return count;
}

static eg_status read_words(eg_tokenizer *t, const json_t *step, eg_error *error) {
    static const struct {
        const char *type;
        eg_tokenizer_kind kind;
        step_reader *read;
    } rows[] = {{"Metaspace", EG_TOKENIZER_SENTENCEPIECE, read_metaspace},
                {"Split", EG_TOKENIZER_BPE, read_split},
                {"ByteLevel", EG_TOKENIZER_BPE, read_byte_level}};
    const char *type = eg__json_text(step, "type");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, type) == 0 && rows[i].kind == t->kind)
            return rows[i].read(t, step, error);
    if (strcmp(type, "BertPreTokenizer") == 0 && t->kind == EG_TOKENIZER_WORDPIECE) return EG_OK;
    return refuse(t, "unknown pre-tokenizer", type, error);
}

eg_status eg__json_pre_tokenizer(eg_tokenizer *t, const json_t *step, eg_error *error) {
    const bool none = !step || json_is_null(step);
    if (none && t->kind == EG_TOKENIZER_SENTENCEPIECE) return EG_OK;
    if (none) return refuse(t, "unknown pre-tokenizer", "null", error);
    if (t->kind == EG_TOKENIZER_BPE && count_splits(step) != 1)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "'%zu' pre-tokenizer patterns, not one",
                        count_splits(step));
    if (strcmp(eg__json_text(step, "type"), "Sequence") == 0)
        return each(t, json_object_get(step, "pretokenizers"), read_words, error);
    return read_words(t, step, error);
}

/* ---- after: special tokens at the ends */
static eg_status add_end(eg_tokenizer *t, const json_t *id, bool before, eg_error *error) {
    uint32_t *list = before ? t->before : t->after;
    unsigned *count = before ? &t->before_count : &t->after_count;
    const json_int_t value = json_integer_value(id);
    if (!json_is_integer(id) || value < 0 || (uint64_t)value >= t->vocabulary.count)
        return eg__fail(error, EG_ERR_FORMAT, "id '%lld' of the post-processor is no token",
                        (long long)value);
    if (*count == EG__ENDS_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d special tokens at an end",
                        EG__ENDS_MAX);
    list[(*count)++] = (uint32_t)value;
    return EG_OK;
}

static eg_status read_template(eg_tokenizer *t, const json_t *step, eg_error *error) {
    const json_t *single = json_object_get(step, "single");
    const json_t *tokens = json_object_get(step, "special_tokens");
    bool before = true;
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *item = json_array_get(single, i);
        if (json_object_get(item, "Sequence")) {
            before = false;
            continue;
        }
        const char *name = eg__json_text(json_object_get(item, "SpecialToken"), "id");
        const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");
        if (!json_array_size(ids))
            return eg__fail(error, EG_ERR_FORMAT, "no ids of '%.40s' in the post-processor", name);
        for (size_t k = 0; k < json_array_size(ids); k++) {
            eg_status status = add_end(t, json_array_get(ids, k), before, error);
            if (status) return status;
        }
    }
    return EG_OK;
}

eg_status eg__json_post_processor(eg_tokenizer *t, const json_t *step, eg_error *error) {
    if (!step || json_is_null(step)) return EG_OK;
    const char *type = eg__json_text(step, "type");
    if (strcmp(type, "ByteLevel") == 0) return EG_OK; /* it only moves offsets */
    if (strcmp(type, "Sequence") == 0)
        return each(t, json_object_get(step, "processors"), eg__json_post_processor, error);
    if (strcmp(type, "TemplateProcessing") == 0) return read_template(t, step, error);
    if (strcmp(type, "BertProcessing") != 0 && strcmp(type, "RobertaProcessing") != 0)
        return refuse(t, "unknown post-processor", type, error);
    eg_status status = add_end(t, json_array_get(json_object_get(step, "cls"), 1), true, error);
    return status ? status
                  : add_end(t, json_array_get(json_object_get(step, "sep"), 1), false, error);
}
