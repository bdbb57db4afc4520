/* tokenizer.json: the ids that the tokenizers package gives, and files that break a rule. */
#include "test_tokenizer.h"

AREA(tokenizer_json, "ids of the tokenizers package for nine files; files that break a rule")

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
    CHECK(count == 31, "%s: %zu texts", name, count);
    free(texts);
    free(ids);
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

TEST(tokenizer_json, golden_pieces) {
    static const char *const names[] = {"llama", "metaspace", "unknown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_file(names[i]);
}

TEST(tokenizer_json, golden_words) {
    static const char *const names[] = {"gpt2", "llama3", "qwen2", "prefix", "uncased", "cased"};
    if (!test_knows_unicode()) return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_file(names[i]);
}
