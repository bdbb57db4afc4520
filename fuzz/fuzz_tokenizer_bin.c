/* Arbitrary bytes as a tokenizer.bin of llama2.c: what opens can encode anything. */
#include "fuzz.h"
#include "text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char text[] = "Once upon a time,\n caf\xc3\xa9 \xf0\x9f\x90\x9b\xff";
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_tokenizer *t = NULL;
    eg_error error = {0};
    const eg_status status = eg__tokenizer_from_llama2c(memory, bytes, length, &t, &error);
    require(status ? !t && error.message[0] : t != NULL);
    eg_tokens tokens;
    if (t && eg_tokenizer_encode(t, text, sizeof text - 1, NULL, &tokens, NULL) == EG_OK) {
        for (size_t i = 0; i < tokens.count; i++)
            require(tokens.ids[i] < eg_tokenizer_size(t) &&
                    eg_tokenizer_piece(t, tokens.ids[i], NULL));
        eg_tokens_release(t, &tokens);
    }
    eg_tokenizer_destroy(t);
    eg__memory_destroy(memory);
    return 0;
}
