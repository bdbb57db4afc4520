/* Real vocabularies: every expected id of the tests that llama.cpp has for them. */
#include "test_tokenizer.h"

AREA(tokenizer_vocabularies, "the ids that Hugging Face gives for 46 texts, three vocabularies")

static const char separator[] = "\n__ggml_vocab_test__\n";

/* The folder with the unpacked files; NULL = skipped. */
static const char *unpack(void) {
    static char folder[512];
    char command[1400];
    const char *archive = test_data("gguf-vocab-tests.tar.xz");
    FILE *file = archive ? fopen(archive, "rb") : NULL;
    if (!file) {
        test_skip("no gguf-vocab-tests.tar.xz in $ELEGANS_DATA");
        return NULL;
    }
    fclose(file);
    snprintf(folder, sizeof folder, "%s", test_folder());
    snprintf(command, sizeof command, "tar -xJf '%s' -C '%s' 2>/dev/null", archive, folder);
    if (system(command) != 0) {
        test_skip("tar or xz is missing");
        return NULL;
    }
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/gguf-vocab-tests");
    return folder;
}

/* A file as text, with a terminator; the caller frees it. */
static char *read_text(const char *path, size_t *length) {
    unsigned char *bytes = test_file(path, length);
    char *text = test_alloc(*length + 1);
    memcpy(text, bytes, *length);
    text[*length] = 0;
    free(bytes);
    return text;
}

/* Decoding gives the text back, where nothing was cleaned away. */
static void check_back(const eg_tokenizer *t, const char *text, size_t length) {
    static char back[65536];
    eg_tokens tokens;
    eg_error error = {0};
    CHECK_OK(eg_tokenizer_encode(t, text, length, NULL, &tokens, &error), error);
    const size_t size = test_decodes(t, tokens.ids, tokens.count, false, back, sizeof back);
    CHECK(size == length && memcmp(back, text, length) == 0, "'%.*s' came back as '%s'",
          (int)length, text, back);
    eg_tokens_release(t, &tokens);
}

static void check_vocabulary(const char *folder, const char *name, eg_tokenizer_kind kind) {
    char path[700];
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    snprintf(path, sizeof path, "%s/ggml-vocab-%s.gguf", folder, name);
    CHECK_OK(eg__tokenizer_load(test.memory, path, &t, &error), error);
    if (t) {
        size_t length, found = 0, same = 0;
        snprintf(path, sizeof path, "%s/ggml-vocab-%s.gguf.inp", folder, name);
        char *inputs = read_text(path, &length);
        snprintf(path, sizeof path, "%s/ggml-vocab-%s.gguf.out", folder, name);
        char *outputs = read_text(path, &length), *line = outputs;
        CHECK(eg_tokenizer_kind_get(t) == kind, "another kind");
        for (char *at = inputs, *end; at && line; at = end ? end + strlen(separator) : NULL) {
            end = strstr(at, separator);
            char *line_end = strchr(line, '\n');
            if (line_end) *line_end = 0;
            /* the last text ends with the file, which has the separator behind it */
            if (!end && !*at) break;
            const size_t size = end ? (size_t)(end - at) : strlen(at);
            while (*line == ' ') line++;
            same += test_encodes(t, at, size, NULL, line);
            if (kind != EG_TOKENIZER_WORDPIECE) check_back(t, at, size);
            found++;
            line = line_end ? line_end + 1 : NULL;
        }
        CHECK(found == 46 && same == 46, "%s: %zu of %zu texts", name, same, found);
        free(inputs);
        free(outputs);
    }
    eg_tokenizer_destroy(t);
    test_memory_close(&test);
}

TEST(tokenizer_vocabularies, gpt2) {
    const char *folder = test_knows_unicode() ? unpack() : NULL;
    if (folder) check_vocabulary(folder, "gpt-2", EG_TOKENIZER_BPE);
}

TEST(tokenizer_vocabularies, llama) {
    const char *folder = unpack();
    if (folder) check_vocabulary(folder, "llama-spm", EG_TOKENIZER_SENTENCEPIECE);
}

TEST(tokenizer_vocabularies, bert) {
    const char *folder = test_knows_unicode() ? unpack() : NULL;
    if (folder) check_vocabulary(folder, "bert-bge", EG_TOKENIZER_WORDPIECE);
}

/* The same vocabulary as GGUF and as llama2.c has it. */
TEST(tokenizer_vocabularies, stories) {
    static const char *const texts[] = {"", "Once upon a time, there was a little girl named Lily.",
                                        " two  spaces\n\nand lines\t",
                                        "caf\xc3\xa9 \xf0\x9f\x90\x9b \xff\xfe", "<s>"};
    const char *data = test_data("models/tok512.bin");
    FILE *file = data ? fopen(data, "rb") : NULL;
    if (!file) {
        test_skip("no models/tok512.bin in $ELEGANS_DATA");
        return;
    }
    fclose(file);
    test_memory test;
    test_memory_open(&test, 0);
    eg_tokenizer *a = NULL, *b = NULL;
    eg_error error = {0};
    CHECK_OK(eg__tokenizer_load(test.memory, data, &a, &error), error);
    CHECK_OK(eg__tokenizer_load(test.memory, test_data("models/stories260K.gguf"), &b, &error),
             error);
    for (size_t i = 0; a && b && i < sizeof texts / sizeof *texts; i++) {
        eg_tokens tokens;
        char expected[4096];
        const size_t length = strlen(texts[i]);
        const eg_encode_options options = {.ends = 1};
        CHECK_OK(eg_tokenizer_encode(a, texts[i], length, &options, &tokens, &error), error);
        test_ids_text(&tokens, expected, sizeof expected);
        test_encodes(b, texts[i], length, &options, expected);
        eg_tokens_release(a, &tokens);
        check_back(a, texts[i], length);
        check_back(b, texts[i], length);
    }
    /* as llama2.c encodes a prompt */
    const eg_encode_options begin = {.ends = 1};
    if (a) test_encodes(a, "Once upon a time", 16, &begin, "1 403 407 261 378");
    CHECK(eg_tokenizer_size(a) == 512, "%zu tokens", eg_tokenizer_size(a));
    eg_tokenizer_destroy(a);
    eg_tokenizer_destroy(b);
    test_memory_close(&test);
}
