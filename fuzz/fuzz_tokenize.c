/* Encodes arbitrary bytes with real rules; where every byte has a token, decoding gives them back. The
 * vocabularies are those of the tests, and that of stories260K where $ELEGANS_DATA has it. */
#include "fuzz.h"
#include "text/text.h"

#include <string.h>

static const struct {
    const char *file;
    bool exact;
} files[] = {{"pieces.bin", true},    {"gpt2.json", true},   {"llama3.json", true},
             {"prefix.json", false},  {"qwen2.json", false}, {"uncased.json", false},
             {"cased.json", false},   {"llama.json", false}, {"metaspace.json", false},
             {"unknown.json", false}, {"pieces.gguf", false}};
enum { FILES = sizeof files / sizeof *files };

typedef struct vocabularies {
    eg__memory *memory;
    eg_tokenizer *all[FILES];
} vocabularies;

static void load(vocabularies *v) {
    const char *data = getenv("ELEGANS_DATA");
    char path[512];
    require(eg__memory_create(&v->memory, NULL, NULL) == EG_OK);
    for (size_t i = 0; i < FILES; i++) {
        eg_error error = {0};
        snprintf(path, sizeof path, "tests/fixtures/tokenizers/%s", files[i].file);
        if (i == 0 && data) snprintf(path, sizeof path, "%s/models/tok512.bin", data);
        eg_status status = eg__tokenizer_load(v->memory, path, &v->all[i], &error);
        if (status) fprintf(stderr, "%s\n", error.message);
        require(!status || status == EG_ERR_UNSUPPORTED);
    }
}

static void check(const eg_tokenizer *t, bool exact, const eg_encode_options *options,
                  const char *text, size_t length) {
    eg_tokens tokens;
    eg_decoder decoder = {0};
    size_t total = 0;
    char out[256];
    require(eg_tokenizer_encode(t, text, length, options, &tokens, NULL) == EG_OK);
    for (size_t i = 0; i < tokens.count; i++) {
        size_t size;
        require(eg_tokenizer_decode(t, &decoder, tokens.ids[i], out, sizeof out, &size, NULL) ==
                EG_OK);
        if (exact) require(total + size <= length && memcmp(text + total, out, size) == 0);
        total += size;
    }
    const size_t rest = eg_decoder_finish(&decoder, out);
    if (exact) require(total + rest == length && memcmp(text + total, out, rest) == 0);
    eg_tokens_release(t, &tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static vocabularies v;
    if (!v.memory) load(&v);
    if (length < 2) return 0;
    const size_t which = bytes[0] % FILES;
    const eg_encode_options options = {.ends = bytes[1] & 1, .special = bytes[1] >> 1 & 1};
    if (v.all[which])
        check(v.all[which], files[which].exact && !options.special, &options,
              (const char *)bytes + 2, length - 2);
    return 0;
}
