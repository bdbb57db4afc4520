/* Tokenizers made of a few tokens: options, bytes that are no text, decoding piece by piece, vocabularies
 * that break a rule. */
#include "test_gguf.h"
#include "test_tokenizer.h"

#include "elegans/context.h"

AREA(tokenizer, "options, bytes that are no text, decoding in pieces, broken vocabularies")

/* ---- a vocabulary of a few tokens, in GGUF */
typedef struct words {
    const char *model, *pre;
    const char *tokens[24];
    int kinds[24]; /* 0 ends them */
    const char *merges[8];
    const char *key; /* one more entry: u32 */
    uint32_t value;
} words;

static size_t count_of(const words *w) {
    size_t count = 0;
    while (count < 24 && w->kinds[count]) count++;
    return count;
}

static unsigned char *make(const words *w, size_t *size) {
    gguf_bytes g = {0};
    const size_t count = count_of(w);
    size_t merges = 0;
    while (merges < 8 && w->merges[merges]) merges++;
    gguf_head(&g, 3, 0, 4 + (w->pre != NULL) + (merges > 0) + (w->key != NULL));
    gguf_key_text(&g, "tokenizer.ggml.model", w->model);
    if (w->pre) gguf_key_text(&g, "tokenizer.ggml.pre", w->pre);
    gguf_array(&g, "tokenizer.ggml.tokens", EG_GGUF_TEXT, count);
    for (size_t i = 0; i < count; i++) gguf_text(&g, w->tokens[i]);
    gguf_array(&g, "tokenizer.ggml.token_type", EG_GGUF_I32, count);
    for (size_t i = 0; i < count; i++) gguf_u32(&g, (uint32_t)w->kinds[i]);
    gguf_array(&g, "tokenizer.ggml.scores", EG_GGUF_F32, count);
    for (size_t i = 0; i < count; i++) {
        const float score = -(float)i;
        gguf_add(&g, &score, sizeof score);
    }
    if (merges) gguf_array(&g, "tokenizer.ggml.merges", EG_GGUF_TEXT, merges);
    for (size_t i = 0; i < merges; i++) gguf_text(&g, w->merges[i]);
    if (w->key) gguf_key_u32(&g, w->key, w->value);
    unsigned char *exact = gguf_exact(&g, g.size);
    *size = g.size;
    free(g.bytes);
    return exact;
}

static eg_status load(eg__memory *memory, const words *w, eg_tokenizer **out, eg_error *error) {
    size_t size;
    unsigned char *bytes = make(w, &size);
    eg_gguf *file;
    *out = NULL;
    eg_status status = eg__gguf_parse(memory, bytes, size, &file, error);
    if (!status) status = eg__tokenizer_from_gguf(memory, file, out, error);
    eg_gguf_close(file);
    free(bytes); /* nothing of it is needed any more */
    return status;
}

#define MARK "\xe2\x96\x81"
static const words pieces = {.model = "llama",
                             .tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "<0xFF>", MARK,
                                        "a", "b", "ab", MARK "a", "<tool>", "<0x0A>", "aba"},
                             .kinds = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 4, 6, 5},
                             .key = "tokenizer.ggml.bos_token_id",
                             .value = 1};

TEST(tokenizer, options) {
    static const eg_encode_options ends = {.ends = 1, .special = 0},
                                   special = {.ends = 0, .special = 1},
                                   both = {.ends = 1, .special = 1};
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t;
    eg_error error = {0};
    CHECK_OK(load(test.memory, &pieces, &t, &error), error);
    test_encodes(t, "", 0, NULL, "");
    test_encodes(t, "", 0, &ends, "1");
    test_encodes(t, "ab", 2, NULL, "6 9");    /* "ab" is worth more than the space before "a" */
    test_encodes(t, " ab", 3, NULL, "6 6 9"); /* the space that is there, and the one that is put */
    test_encodes(t, "ab", 2, &ends, "1 6 9");
    /* special tokens are text, unless they are asked for; those of users are always found */
    CHECK(eg_tokenizer_special(t, EG_SPECIAL_UNKNOWN) < 0, "an unknown token");
    CHECK(eg_tokenizer_special(t, EG_SPECIAL_BEGIN) == 1, "another begin");
    test_encodes(t, "<s>ab", 5, &special, "1 6 9");
    test_encodes(t, "<s>ab</s>", 9, &both, "1 1 6 9 2");
    test_encodes(t, "a<tool>b", 8, NULL, "10 11 6 8");
    eg_tokens tokens;
    CHECK_FAILS(eg_tokenizer_encode(t, "<s>", 3, NULL, &tokens, &error), error, EG_ERR_NOT_FOUND,
                "no token for byte '0x3c', and no unknown token");
    CHECK(!tokens.ids && !tokens.count, "tokens after a failure");
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

TEST(tokenizer, bytes_that_are_no_text) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t;
    eg_error error = {0};
    words w = pieces;
    w.key = "tokenizer.ggml.unknown_token_id";
    w.value = 0;
    CHECK_OK(load(test.memory, &w, &t, &error), error);
    test_encodes(t, "\xc3\xa9", 2, NULL, "6 3 4");
    test_encodes(t, "\xff", 1, NULL, "6 5");
    test_encodes(t, "\xc3", 1, NULL, "6 3");
    test_encodes(t, "\xa9\xc3", 2, NULL, "6 4 3");
    test_encodes(t, "\xfe", 1, NULL, "6 0"); /* no token for it */
    test_encodes(t,
                 "\xc3\xa8"
                 "a",
                 3, NULL, "6 0 7"); /* nor for a byte of it */
    test_encodes(t, "a\0b", 3, NULL, "10 0 8");
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

TEST(tokenizer, names_of_bytes) {
    static const struct {
        const char *text;
        int byte;
    } rows[] = {{"<0x0A>", 10}, {"<0x0a>", 10}, {"<0xfF>", 255}, {"<0x00>", 0},   {"<0xB9>", 185},
                {"<0xG0>", -1}, {"<0x0g>", -1}, {"<0x0A", -1},   {"<0x0A>>", -1}, {"<0X0A>", -1},
                {"0x0A>>", -1}, {"<0x +>", -1}, {"", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int byte = eg__named_byte(rows[i].text, strlen(rows[i].text));
        CHECK(byte == rows[i].byte, "'%s': %d", rows[i].text, byte);
    }
    CHECK(eg__named_byte("<0x\0A>", 6) == -1, "a zero byte is no digit");
}

/* Tokens found whole are looked up by their first byte: the first, the last and one between. */
TEST(tokenizer, tokens_by_first_byte) {
    words w = pieces;
    w.tokens[11] = "\xff\xff";
    w.kinds[11] = 4;
    w.tokens[13] = "\x01x";
    w.kinds[13] = 4;
    eg__memory *memory;
    eg_error error = {0};
    CHECK_OK(eg__memory_create(&memory, NULL, &error), error);
    eg_tokenizer *t;
    CHECK_OK(load(memory, &w, &t, &error), error);
    const eg_encode_options options = {.special = 1};
    if (t) {
        test_encodes(t, "\xff\xff", 2, &options, "11");
        test_encodes(t, "\x01x\xff\xff\x01x", 6, &options, "13 11 13");
    }
    eg_tokenizer_destroy(t);
    eg__memory_destroy(memory);
}

TEST(tokenizer, decoding_in_pieces) {
    static const struct {
        uint32_t id;
        const char *text;
    } steps[] = {{1, ""},
                 {10, "a"},
                 {3, ""},
                 {4, "\xc3\xa9"},
                 {6, " "},
                 {3, ""},
                 {7, "\xc3"
                     "a"}, /* no UTF-8 comes of it any more */
                 {5, "\xff"},
                 {12, "\n"},
                 {11, "<tool>"},
                 {2, ""},
                 {3, ""}};
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t;
    eg_error error = {0};
    eg_decoder decoder = {0};
    char out[32], rest[4];
    size_t length;
    CHECK_OK(load(test.memory, &pieces, &t, &error), error);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        CHECK_OK(eg_tokenizer_decode(t, &decoder, steps[i].id, out, sizeof out, &length, &error),
                 error);
        CHECK(length == strlen(steps[i].text) && memcmp(out, steps[i].text, length) == 0,
              "step %zu gives %zu bytes, '%.*s'", i, length, (int)length, out);
    }
    CHECK(eg_decoder_finish(&decoder, rest) == 1 && rest[0] == '\xc3', "the rest");
    CHECK(eg_decoder_finish(&decoder, rest) == 0, "a rest again");
    decoder.special = 1;
    CHECK_OK(eg_tokenizer_decode(t, &decoder, 1, out, sizeof out, &length, &error), error);
    CHECK(length == 3 && memcmp(out, "<s>", 3) == 0, "a special token");
    CHECK_FAILS(eg_tokenizer_decode(t, &decoder, 11, out, 5, &length, &error), error,
                EG_ERR_OVERFLOW, "text of '6' bytes, room for 5");
    CHECK(length == 6, "it needs %zu", length);
    CHECK_FAILS(eg_tokenizer_decode(t, &decoder, 14, out, 5, &length, &error), error,
                EG_ERR_ARGUMENT, "id '14' is not below 14");
    CHECK_FAILS(eg_tokenizer_decode(NULL, &decoder, 0, out, 5, &length, &error), error,
                EG_ERR_ARGUMENT, "no tokenizer");
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

static const words bytes = {.model = "gpt2",
                            .pre = "gpt-2",
                            .tokens = {"a", "b", "\xc4\xa0",
                                       "\xc4\xa0"
                                       "a",
                                       "ab", "<end>", "\xc3\xa9"},
                            .kinds = {1, 1, 1, 1, 1, 3, 1},
                            .merges = {"a b", "\xc4\xa0 a"}};
static const words bert = {.model = "bert",
                           .tokens = {"[UNK]", "[CLS]", "[SEP]", MARK "a", "b", MARK "!", MARK "b"},
                           .kinds = {2, 3, 3, 1, 1, 1, 1},
                           .key = "tokenizer.ggml.unknown_token_id",
                           .value = 0};

TEST(tokenizer, words_of_bytes) {
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t;
    eg_error error = {0};
    eg_tokens tokens;
    char back[64];
    size_t length;
    if (test_knows_unicode()) {
        CHECK_OK(load(test.memory, &bytes, &t, &error), error);
        test_encodes(t, "ab ab", 5, NULL, "4 2 4"); /* "a b" was learnt first */
        test_encodes(t, " a", 2, NULL, "3");
        test_encodes(t, "\xe9", 1, NULL, "6"); /* the letter stands for this byte */
        CHECK_FAILS(eg_tokenizer_encode(t, "x", 1, NULL, &tokens, &error), error, EG_ERR_NOT_FOUND,
                    "no token for byte '0x78'");
        const char *piece = eg_tokenizer_piece(t, 3, &length);
        CHECK(length == 2 && memcmp(piece, " a", 2) == 0, "another piece");
        CHECK(!eg_tokenizer_piece(t, 7, &length) && !length, "a piece beyond");
        CHECK(eg_tokenizer_is_special(t, 5) && !eg_tokenizer_is_special(t, 4) &&
                  !eg_tokenizer_is_special(t, 99),
              "special tokens");
        CHECK(test_decodes(t, (uint32_t[]){4, 3, 5}, 3, true, back, sizeof back) == 9 &&
                  strcmp(back, "ab a<end>") == 0,
              "'%s'", back);
        eg_tokenizer_destroy(t);
        CHECK_OK(load(test.memory, &bert, &t, &error), error);
        test_encodes(t,
                     "\xc3\x81"
                     "b a!b\xff",
                     8, NULL, "3 4 3 5 6");
        test_encodes(t, "a" MARK "b c", 7, NULL,
                     "0 0"); /* a mark that somebody wrote is no space */
        CHECK(test_decodes(t, (uint32_t[]){3, 4, 6}, 3, false, back, sizeof back) == 4 &&
                  strcmp(back, "ab b") == 0,
              "'%s'", back);
        eg_tokenizer_destroy(t);
    }
    test_memory_close(&test);
}

TEST(tokenizer, broken_vocabularies) {
    static const struct {
        words words;
        eg_status status;
        const char *part;
    } rows[] = {
        {{.model = "t5", .tokens = {"a"}, .kinds = {1}},
         EG_ERR_UNSUPPORTED,
         "unknown kind 't5' of tokenizer"},
        {{.model = "llama"}, EG_ERR_FORMAT, "'0' tokens are not within"},
        {{.model = "llama", .tokens = {"a"}, .kinds = {7}},
         EG_ERR_FORMAT,
         "unknown type '7' of token '0'"},
        {{.model = "llama", .tokens = {"a"}, .kinds = {-1}}, EG_ERR_FORMAT, "unknown type '-1'"},
        {{.model = "llama",
          .tokens = {"a"},
          .kinds = {1},
          .key = "tokenizer.ggml.eos_token_id",
          .value = 1},
         EG_ERR_FORMAT,
         "id '1' of the end token is not below 1"},
        {{.model = "llama",
          .tokens = {"a"},
          .kinds = {1},
          .key = "tokenizer.ggml.eos_token_id",
          .value = UINT32_MAX},
         EG_OK,
         ""},
        {{.model = "gpt2", .tokens = {"a"}, .kinds = {1}},
         EG_ERR_NOT_FOUND,
         "no key 'tokenizer.ggml.pre'"},
        {{.model = "gpt2", .pre = "martian", .tokens = {"a"}, .kinds = {1}},
         EG_ERR_UNSUPPORTED,
         "unknown pre-tokenizer 'martian'"},
        {{.model = "gpt2", .pre = "gpt-2", .tokens = {"a"}, .kinds = {1}},
         EG_ERR_NOT_FOUND,
         "no key 'tokenizer.ggml.merges'"},
        {{.model = "gpt2", .pre = "gpt-2", .tokens = {"a"}, .kinds = {1}, .merges = {"a"}},
         EG_ERR_FORMAT,
         "merge '0' is not a pair"},
        {{.model = "gpt2", .pre = "gpt-2", .tokens = {"a"}, .kinds = {1}, .merges = {"a a"}},
         EG_ERR_FORMAT,
         "merge '0' of 'a' and 'a' has no token"},
    };
    const bool unicode = !eg__unicode_check("bpe", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_memory test;
        test_memory_open(&test, 0);
        eg_tokenizer *t;
        eg_error error = {0};
        eg_status status = load(test.memory, &rows[i].words, &t, &error);
        if (!unicode && strcmp(rows[i].words.model, "gpt2") == 0)
            CHECK(status == EG_ERR_UNSUPPORTED && strstr(error.message, "needs utf8proc"), "'%s'",
                  error.message);
        else
            CHECK(status == rows[i].status && strstr(error.message, rows[i].part),
                  "row %zu: %s '%s', expected '%s'", i, eg_status_name(status), error.message,
                  rows[i].part);
        eg_tokenizer_destroy(t);
        test_memory_close(&test);
    }
}

/* Lists that are shorter than the tokens, of another type, or no lists. */
TEST(tokenizer, broken_lists) {
    static const struct {
        uint32_t tokens, scores; /* types; 0 = the right one */
        uint64_t count;          /* of scores */
        const char *part;
    } rows[] = {
        {EG_GGUF_TEXT, EG_GGUF_F32, 1, "'1' values of 'tokenizer.ggml.scores' for 2 tokens"},
        {EG_GGUF_TEXT, EG_GGUF_F32, 3, "'3' values"},
        {EG_GGUF_TEXT, EG_GGUF_FLAG, 2, "'tokenizer.ggml.scores' is 'bool', not a number"},
        {EG_GGUF_U64, EG_GGUF_F32, 2, "'tokenizer.ggml.tokens' is 'u64', not text"},
        {EG_GGUF_TEXT, 0, 0, "no 'tokenizer.ggml.scores'"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_memory test;
        test_memory_open(&test, 0);
        gguf_bytes g = {0};
        gguf_head(&g, 3, 0, rows[i].scores ? 3 : 2);
        gguf_key_text(&g, "tokenizer.ggml.model", "llama");
        gguf_array(&g, "tokenizer.ggml.tokens", rows[i].tokens, 2);
        gguf_u64(&g, 0), gguf_u64(&g, 0);
        if (rows[i].scores) gguf_array(&g, "tokenizer.ggml.scores", rows[i].scores, rows[i].count);
        gguf_zeros(&g, 12);
        eg_gguf *file = NULL;
        eg_tokenizer *t;
        eg_error error = {0};
        CHECK_OK(eg__gguf_parse(test.memory, g.bytes, g.size, &file, &error), error);
        CHECK_FAILS(eg__tokenizer_from_gguf(test.memory, file, &t, &error), error, EG_ERR_FORMAT,
                    rows[i].part);
        eg_gguf_close(file);
        free(g.bytes);
        test_memory_close(&test);
    }
}

/* ---- vocabularies of llama2.c */
static unsigned char *make_llama2c(size_t extra, size_t *size) {
    gguf_bytes g = {0};
    gguf_u32(&g, 7);
    for (size_t i = 0; i < 259 + extra; i++) {
        const float score = -(float)i;
        const char *text = i < 259 ? "<0x00>" : i == 259 ? "a" : i == 260 ? " " : " a";
        gguf_add(&g, &score, 4), gguf_u32(&g, (uint32_t)strlen(text));
        gguf_add(&g, text, strlen(text));
    }
    unsigned char *exact = gguf_exact(&g, g.size);
    *size = g.size;
    free(g.bytes);
    return exact;
}

TEST(tokenizer, llama2c) {
    static const eg_encode_options ends = {.ends = 1, .special = 0};
    test_memory test;
    test_memory_open(&test, 0);
    size_t size, whole = 0;
    unsigned char *bytes_of = make_llama2c(3, &size);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    CHECK_OK(eg__tokenizer_from_llama2c(test.memory, bytes_of, size, &t, &error), error);
    test_encodes(t, "a a", 3, &ends, "1 261 261");
    test_encodes(t,
                 "\xff"
                 "a",
                 2, NULL, "260 258 259");
    eg_tokenizer_destroy(t);
    for (size_t n = 0; n < size; n++) { /* it may end behind any token from the last byte on */
        unsigned char *exact = test_alloc(n);
        memcpy(exact, bytes_of, n);
        eg_status status = eg__tokenizer_from_llama2c(test.memory, exact, n, &t, NULL);
        CHECK(status == EG_OK || status == EG_ERR_FORMAT, "%zu bytes", n);
        whole += !status;
        eg_tokenizer_destroy(t);
        free(exact);
    }
    CHECK(whole == 3, "%zu of the beginnings are vocabularies", whole);
    eg__put32(bytes_of + 8, 8); /* longer than the head allows */
    CHECK_FAILS(eg__tokenizer_from_llama2c(test.memory, bytes_of, size, &t, &error), error,
                EG_ERR_FORMAT, "not a vocabulary of llama2.c");
    eg__put32(bytes_of + 8, 6);
    eg__put32(bytes_of + 4, 0x7fc00000);
    CHECK_FAILS(eg__tokenizer_from_llama2c(test.memory, bytes_of, size, &t, &error), error,
                EG_ERR_FORMAT, "score 'nan' of token '0'");
    free(bytes_of);
    test_memory_close(&test);
}

/* A text without end is not worse than its length times its logarithm. */
TEST(tokenizer, long_texts) {
    enum { LENGTH = 1 << 20 };
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t;
    eg_tokens tokens;
    eg_error error = {0};
    char *text = test_alloc(LENGTH);
    memset(text, 'a', LENGTH);
    for (size_t i = 1; i < LENGTH; i += 2) text[i] = 'b';
    CHECK_OK(load(test.memory, &pieces, &t, &error), error);
    CHECK_OK(eg_tokenizer_encode(t, text, LENGTH, NULL, &tokens, &error), error);
    CHECK(tokens.count == 1 + LENGTH / 2, "%zu tokens", tokens.count);
    eg_tokens_release(t, &tokens);
    eg_tokenizer_destroy(t);
    free(text);
    test_memory_close(&test);
}

TEST(tokenizer, arguments) {
    eg_context *context = NULL;
    eg_tokenizer *t;
    eg_tokens tokens;
    eg_error error = {0};
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_FAILS(eg_tokenizer_open(context, "/nonexistent", &t, &error), error, EG_ERR_FILE,
                "'/nonexistent': No such file");
    CHECK_FAILS(eg_tokenizer_open(NULL, "x", &t, &error), error, EG_ERR_ARGUMENT, "no context");
    CHECK_FAILS(eg_tokenizer_from_gguf(context, NULL, &t, &error), error, EG_ERR_ARGUMENT,
                "no file");
    CHECK_FAILS(eg_tokenizer_encode(NULL, "", 0, NULL, &tokens, &error), error, EG_ERR_ARGUMENT,
                "no tokenizer");
    const char *path = test_join(test_folder(), "noise");
    test_file_write(path, "noise, not a vocabulary", 23);
    CHECK_FAILS(eg_tokenizer_open(context, path, &t, &error), error, EG_ERR_FORMAT,
                "not a vocabulary of llama2.c");
    CHECK(strstr(error.message, "/noise'"), "'%s'", error.message);
    CHECK(!strcmp(eg_tokenizer_kind_name(EG_TOKENIZER_BPE), "bpe") &&
              !eg_tokenizer_kind_name((eg_tokenizer_kind)9) &&
              !strcmp(eg_special_name(EG_SPECIAL_MASK), "mask") &&
              !eg_special_name(EG_SPECIAL_COUNT),
          "names");
    eg_tokenizer_destroy(NULL);
    eg_tokens_release(NULL, NULL);
    eg_context_destroy(context);
}

static eg_status load_and_encode(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator, .no_cache = true};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_tokenizer *t;
    eg_tokens tokens;
    status = load(memory, user, &t, error);
    CHECK(!status == (t != NULL), "a tokenizer after a failure");
    if (t) status = eg_tokenizer_encode(t, "ab a", 4, NULL, &tokens, error);
    if (t && !status) eg_tokens_release(t, &tokens);
    eg_tokenizer_destroy(t);
    eg__memory_destroy(memory);
    return status;
}

TEST(tokenizer, every_allocation) {
    words w = pieces, b = bytes;
    int failed = test_every_allocation(load_and_encode, &w);
    CHECK(failed > 20, "only %d allocations", failed);
    if (eg__unicode_check("bpe", NULL)) return;
    failed = test_every_allocation(load_and_encode, &b);
    CHECK(failed > 20, "only %d allocations", failed);
}

/* The same vocabulary as llama2.c and as GGUF has it; the first has no mark for spaces. */
TEST(tokenizer, two_files_of_one_vocabulary) {
    static const char separator[] = "\n=====\n";
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *a = NULL, *b = NULL;
    eg_error error = {0};
    size_t length, count = 0;
    CHECK_OK(
        eg__tokenizer_load(test.memory, test_path("fixtures/tokenizers/pieces.bin"), &a, &error),
        error);
    CHECK_OK(
        eg__tokenizer_load(test.memory, test_path("fixtures/tokenizers/pieces.gguf"), &b, &error),
        error);
    unsigned char *texts = test_file("fixtures/tokenizers/texts", &length);
    char *all = test_alloc(length + 1);
    memcpy(all, texts, length);
    all[length] = 0;
    for (char *at = all, *end; a && b && at; at = end ? end + strlen(separator) : NULL) {
        end = strstr(at, separator);
        if (end) *end = 0;
        char ids[8192], back[2048];
        eg_tokens tokens;
        const eg_encode_options options = {.ends = 1, .special = 0};
        CHECK_OK(eg_tokenizer_encode(a, at, strlen(at), &options, &tokens, &error), error);
        test_decodes(a, tokens.ids, tokens.count, false, back, sizeof back);
        CHECK(strcmp(back, at) == 0, "'%s' came back as '%s'", at, back);
        if (!strstr(at, MARK))
            test_encodes(b, at, strlen(at), &options, test_ids_text(&tokens, ids, sizeof ids));
        eg_tokens_release(a, &tokens);
        count++;
    }
    CHECK(count == 33, "%zu texts", count);
    free(texts);
    free(all);
    eg_tokenizer_destroy(a);
    eg_tokenizer_destroy(b);
    test_memory_close(&test);
}
