/* What the tests of tokenizers share. */
#ifndef EG__TEST_TOKENIZER_H
#define EG__TEST_TOKENIZER_H

#include "test_formats.h"
#include "text/text.h"

/* Whether this build knows Unicode; if not, the running test is skipped and should return. */
static inline bool test_knows_unicode(void) {
    eg_error error = {0};
    if (!eg__unicode_check("bpe", &error)) return true;
    test_skip("%s", error.message);
    return false;
}

/* Ids as text, "1 22 333": what failures show, and what files of expected ids hold. */
static inline const char *test_ids_text(const eg_tokens *tokens, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < tokens->count && used + 16 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%u", i ? " " : "", tokens->ids[i]);
    return out;
}

/* Encodes `text`, and checks that the ids are those of `expected`: "1 22 333". */
static inline bool test_encodes(const eg_tokenizer *t, const char *text, size_t length,
                                const eg_encode_options *options, const char *expected) {
    static char found[65536];
    eg_tokens tokens;
    eg_error error = {0};
    CHECK_OK(eg_tokenizer_encode(t, text, length, options, &tokens, &error), error);
    const bool same = strcmp(test_ids_text(&tokens, found, sizeof found), expected) == 0;
    CHECK(same, "'%.*s' is %s, expected %s", (int)length, text, found, expected);
    eg_tokens_release(t, &tokens);
    return same;
}

/* Decodes ids one by one into `out`, which must have room; returns the length. */
static inline size_t test_decodes(const eg_tokenizer *t, const uint32_t *ids, size_t count,
                                  bool special, char *out, size_t size) {
    eg_decoder decoder = {.special = special};
    size_t used = 0;
    eg_error error = {0};
    for (size_t i = 0; i < count; i++) {
        size_t length;
        CHECK_OK(eg_tokenizer_decode(t, &decoder, ids[i], out + used, size - used, &length, &error),
                 error);
        used += length;
    }
    char rest[4];
    const size_t held = eg_decoder_finish(&decoder, rest);
    CHECK(used + held < size, "no room for %zu bytes", used + held);
    if (used + held < size) memcpy(out + used, rest, held), out[used + held] = 0;
    return used + held;
}

#endif
