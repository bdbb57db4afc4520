/* tokenizer.json: the ids that the tokenizers package gives, and files that break a rule. */
#include "test_tokenizer.h"

AREA(tokenizer_json, "ids of the tokenizers package for eleven files; files that break a rule")

static const char separator[] = "\n=====\n";

static char *read_text(const char *name) {
    char path[200];
    size_t length;
    snprintf(path, sizeof path, "fixtures/tokenizers/%s", name);
    unsigned char *bytes = test_file(path, &length);
    char *text = test_alloc(length + 1);
    memcpy(text, bytes, length);
    text[length] = 0;
    free(bytes);
    return text;
}

static void check_file(const char *name) {
    char file[64];
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    snprintf(file, sizeof file, "fixtures/tokenizers/%s.json", name);
    CHECK_OK(eg__tokenizer_load(test.memory, test_path(file), &t, &error), error);
    snprintf(file, sizeof file, "%s.ids", name);
    char *texts = read_text("texts"), *ids = read_text(file), *line = ids;
    size_t count = 0;
    const eg_encode_options options = {.ends = 1, .special = 1};
    for (char *at = texts, *end; t && at; at = end ? end + strlen(separator) : NULL) {
        char *line_end = strchr(line, '\n');
        end = strstr(at, separator);
        CHECK(line_end != NULL, "%s: no line %zu", name, count);
        if (!line_end) break;
        *line_end = 0;
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        CHECK(test_encodes(t, at, length, &options, line), "%s, text %zu", name, count);
        line = line_end + 1;
        count++;
    }
    CHECK(count == 33, "%s: %zu texts", name, count);
    free(texts);
    free(ids);
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

TEST(tokenizer_json, golden_pieces) {
    static const char *const names[] = {"llama", "metaspace", "unknown", "bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_file(names[i]);
}

TEST(tokenizer_json, golden_words) {
    static const char *const names[] = {"gpt2",    "llama3",  "qwen2", "prefix",
                                        "uncased", "accents", "cased"};
    if (!test_knows_unicode()) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_file(names[i]);
}

/* Names of bytes among the added tokens are read back as the tokenizers package does: as bytes, unless they
 * are special and left out. */
TEST(tokenizer_json, added_bytes) {
    static const struct {
        uint32_t ids[5];
        size_t count;
        bool special;
        const char *text;
    } rows[] = {{{277, 13, 277}, 3, true, "a\na"},
                {{277, 13, 277}, 3, false, "aa"},
                {{231, 192, 163}, 3, false, "\u4f60"},
                {{231, 192, 163}, 3, true, "\u4f60"},
                {{330, 162, 147, 158}, 4, true, "\U0001f41b"}};
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    CHECK_OK(
        eg__tokenizer_load(test.memory, test_path("fixtures/tokenizers/bytes.json"), &t, &error),
        error);
    for (size_t i = 0; t && i < sizeof rows / sizeof *rows; i++) {
        char out[64] = {0};
        test_decodes(t, rows[i].ids, rows[i].count, rows[i].special, out, sizeof out);
        CHECK(strcmp(out, rows[i].text) == 0, "row %zu: '%s', not '%s'", i, out, rows[i].text);
    }
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

/* Bytes are looked for by the name in capitals, whichever other names of theirs there are. */
TEST(tokenizer_json, names_of_bytes_in_small_letters) {
    static const char text[] =
        "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{\"a\":0,\"<0x0A>\":1,"
        "\"<0x0a>\":2},\"merges\":[]}}";
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    CHECK_OK(eg__tokenizer_from_json(test.memory, text, strlen(text), &t, &error), error);
    if (t) test_encodes(t, "a\na", 3, NULL, "0 1 0");
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

/* A small file whose parts can be replaced. */
static eg_status load_parts(const char *model, const char *rest, eg_error *error) {
    test_memory test;
    test_memory_open(&test, UINT64_C(1) << 28);
    char text[2048];
    snprintf(text, sizeof text, "{\"model\":%s%s%s}", model, *rest ? "," : "", rest);
    eg_tokenizer *t;
    eg_status status = eg__tokenizer_from_json(test.memory, text, strlen(text), &t, error);
    CHECK(!status == (t != NULL), "%s: %s and %p", text, eg_status_name(status), (void *)t);
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
    return status;
}

#define MODEL         "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"
#define WORDS         "{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2}}"
#define LEVEL         "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define BERT          "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define ADDED(fields) "\"added_tokens\":[{" fields "}]"

TEST(tokenizer_json, every_rule) {
    static const struct {
        const char *model, *rest;
        eg_status status;
        const char *part;
    } rows[] = {
        {MODEL, "", EG_OK, ""},
        {MODEL, LEVEL, EG_OK, ""},
        {WORDS, BERT, EG_OK, ""},
        {"{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"]]}", LEVEL, EG_OK, ""},
        {MODEL, ADDED("\"id\":9,\"content\":\"<x>\",\"special\":true"), EG_OK, ""}, /* holes */
        /* kinds and shapes */
        {"1", "", EG_ERR_FORMAT, "no 'model.vocab'"},
        {"{}", "", EG_ERR_FORMAT, "no 'model.vocab'"},
        {"{\"type\":\"Unigram\",\"vocab\":[]}", "", EG_ERR_UNSUPPORTED, "unknown kind 'Unigram'"},
        {"{\"type\":\"BPE\",\"vocab\":[]}", "", EG_ERR_FORMAT, "no 'model.vocab'"},
        {"{\"type\":\"BPE\",\"vocab\":{}}", "", EG_ERR_FORMAT, "'0' tokens are not within"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0}}", "", EG_ERR_FORMAT, "no list 'model.merges'"},
        {"{", "", EG_ERR_FORMAT, "bad JSON at byte"},
        {"{\"vocab\":{\"a\":0,\"a\":1}}", "", EG_ERR_FORMAT, "duplicate object key"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}", "",
         EG_ERR_UNSUPPORTED, "'end_of_word_suffix' of '</w>'"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}", "",
         EG_ERR_UNSUPPORTED, "'dropout'"},
        /* ids */
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":\"0\"},\"merges\":[]}", "", EG_ERR_FORMAT,
         "no id, or one out of all range, of token 'a'"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}", "", EG_ERR_FORMAT, "token 'a'"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":1e3},\"merges\":[]}", "", EG_ERR_FORMAT, "token 'a'"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":4000000000},\"merges\":[]}", "", EG_ERR_FORMAT,
         "token 'a'"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}", "", EG_ERR_FORMAT,
         "two tokens have the id of 'b'"},
        /* added tokens */
        {MODEL, "\"added_tokens\":1", EG_ERR_FORMAT, "'added_tokens' is not a list"},
        {MODEL, ADDED("\"content\":\"x\""), EG_ERR_FORMAT, "no id, or one out of all range"},
        {MODEL, ADDED("\"id\":0,\"content\":\"x\""), EG_ERR_FORMAT, "have the id of 'x'"},
        {MODEL, ADDED("\"id\":5"), EG_ERR_FORMAT, "have the id of ''"},
        {MODEL, ADDED("\"id\":5,\"content\":\"x\",\"single_word\":true"), EG_ERR_UNSUPPORTED,
         "'single_word' of token 'x'"},
        /* merges */
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}", "", EG_ERR_FORMAT,
         "merge '0' is not a pair"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}", "", EG_ERR_FORMAT,
         "merge '0' is not a pair"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[1]}", "", EG_ERR_FORMAT,
         "merge '0' is not a pair"},
        {"{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}", "", EG_ERR_FORMAT,
         "merge '0' of 'a' and 'a' has no token"},
        /* rules */
        {MODEL, "\"normalizer\":{\"type\":\"NFKC\"}", EG_ERR_UNSUPPORTED,
         "unknown normalizer 'NFKC' for a tokenizer of kind 'sentencepiece'"},
        {MODEL, "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Nmt\"}]}",
         EG_ERR_UNSUPPORTED, "unknown normalizer 'Nmt'"},
        {MODEL, "\"pre_tokenizer\":{\"type\":\"Digits\"}", EG_ERR_UNSUPPORTED,
         "unknown pre-tokenizer 'Digits'"},
        {MODEL, "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}",
         EG_ERR_UNSUPPORTED, "unknown mark '_'"},
        {MODEL, "\"post_processor\":{\"type\":\"Other\"}", EG_ERR_UNSUPPORTED,
         "unknown post-processor 'Other'"},
        {MODEL, "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",7]}", EG_ERR_FORMAT,
         "id '7' of the post-processor is no token"},
        {MODEL,
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
         "\"id\":\"x\"}}]}",
         EG_ERR_FORMAT, "no ids of 'x' in the post-processor"},
        {WORDS, "", EG_ERR_UNSUPPORTED, "unknown pre-tokenizer 'null'"},
        {MODEL,
         "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
         "\"pattern\":{\"Regex\":\"x+\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\","
         "\"use_regex\":false}]}",
         EG_ERR_UNSUPPORTED, "unknown pattern 'x+'"},
        {MODEL,
         "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},"
         "{\"type\":\"ByteLevel\"}]}",
         EG_ERR_UNSUPPORTED, "'2' pre-tokenizer patterns, not one"}};
    if (!test_knows_unicode()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_error error = {0};
        eg_status status = load_parts(rows[i].model, rows[i].rest, &error);
        CHECK(status == rows[i].status && strstr(error.message, rows[i].part),
              "row %zu, %s %s: %s '%s', expected '%s'", i, rows[i].model, rows[i].rest,
              eg_status_name(status), error.message, rows[i].part);
        CHECK(load_parts(rows[i].model, rows[i].rest, NULL) == status, "row %zu without", i);
    }
}

/* jansson takes its own memory; what the library takes may fail. */
static eg_status load_file(void *user, const eg_allocator *allocator, eg_error *error) {
    eg__memory_options options = {.allocator = *allocator, .no_cache = true};
    eg__memory *memory;
    eg_status status = eg__memory_create(&memory, &options, error);
    if (status) return status;
    eg_tokenizer *t;
    eg_tokens tokens;
    status = eg__tokenizer_load(memory, user, &t, error);
    CHECK(!status == (t != NULL), "a tokenizer after a failure");
    if (t) status = eg_tokenizer_encode(t, "The caf\xc3\xa9, 12!", 14, NULL, &tokens, error);
    if (t && !status) eg_tokens_release(t, &tokens);
    eg_tokenizer_destroy(t);
    eg__memory_destroy(memory);
    return status;
}

TEST(tokenizer_json, every_allocation) {
    static const char *const names[] = {"qwen2", "uncased", "llama", "prefix"};
    if (!test_knows_unicode()) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char file[64], path[512];
        snprintf(file, sizeof file, "fixtures/tokenizers/%s.json", names[i]);
        snprintf(path, sizeof path, "%s", test_path(file));
        const int failed = test_every_allocation(load_file, path);
        CHECK(failed > 8, "%s: only %d allocations", names[i], failed);
    }
}
