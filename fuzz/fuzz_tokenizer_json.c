/* Feeds arbitrary bytes to the reader of tokenizer.json: what opens can encode anything, also itself. */
#include "fuzz.h"
#include "text/text.h"

static void encode(const eg_tokenizer *t, const char *text, size_t length) {
    const eg_encode_options options = {.ends = 1, .special = 1};
    eg_tokens tokens;
    eg_error error = {0};
    eg_decoder decoder = {.special = 1};
    eg_status status = eg_tokenizer_encode(t, text, length, &options, &tokens, &error);
    require(!status || (status == EG_ERR_NOT_FOUND && error.message[0]));
    for (size_t i = 0; i < tokens.count; i++) {
        size_t size, room;
        require(tokens.ids[i] < eg_tokenizer_size(t));
        require(eg_tokenizer_piece(t, tokens.ids[i], &room) != NULL);
        char *out = malloc(room + EG_DECODE_EXTRA);
        require(out && !eg_tokenizer_decode(t, &decoder, tokens.ids[i], out, room + EG_DECODE_EXTRA,
                                            &size, NULL));
        free(out);
    }
    eg_tokens_release(t, &tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static const char text[] = "The worm's 302 neurons,\n\n caf\xc3\xa9 \xf0\x9f\x90\x9b\xff <s>";
    eg__memory_options options = {.budget = UINT64_C(1) << 28, .no_cache = true};
    eg__memory *memory;
    require(eg__memory_create(&memory, &options, NULL) == EG_OK);
    eg_tokenizer *t;
    eg_error error = {0};
    eg_status status = eg__tokenizer_from_json(memory, (const char *)bytes, length, &t, &error);
    require(!status == (t != NULL) && error.status == status);
    if (t) {
        encode(t, text, sizeof text - 1);
        encode(t, (const char *)bytes, length);
    }
    eg_tokenizer_destroy(t);
    static const eg_tag tags[] = {EG_TAG_FILE, EG_TAG_OTHER};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        eg_memory_figures held;
        eg__memory_figures_get(memory, tags[i], &held);
        require(held.current == 0);
    }
    eg__memory_destroy(memory);
    return 0;
}
