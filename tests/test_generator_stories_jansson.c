/* What run.c of llama2.c writes with stories260K, word for word, from both of its files. */
#include "test_transformer.h"

#include <jansson.h>

AREA(stories, "greedy texts of llama2.c, word for word, from its checkpoint and from GGUF")

typedef struct writer {
    eg_tokenizer *tokenizer;
    eg_generator *g;
    eg_sampler *sampler;
} writer;

/* As llama2.c counts: the one that begins a text is position 0, and `steps` tokens come after it, those of
 * the prompt among them. */
static void write_text(writer *w, const char *prompt, size_t steps, char *out, size_t room) {
    eg_error error;
    eg_tokens tokens;
    eg_decoder decoder = {0};
    const float *logits = NULL;
    size_t used = 0, length = 0;
    out[0] = 0;
    CHECK_OK(eg_tokenizer_encode(w->tokenizer, prompt, strlen(prompt),
                                 &(eg_encode_options){.ends = 1}, &tokens, &error),
             error);
    CHECK_OK(eg_generator_rewind(w->g, 0, &error), error);
    CHECK_OK(eg_generator_feed(w->g, tokens.ids, tokens.count, &logits, &error), error);
    for (size_t at = 1; at <= steps && logits; at++) {
        uint32_t token = 0;
        if (at < tokens.count) token = tokens.ids[at];
        else {
            CHECK_OK(eg_sampler_next(w->sampler, logits, &token, &error), error);
            if (token == 1) break;
            if (at < steps) CHECK_OK(eg_generator_feed(w->g, &token, 1, &logits, &error), error);
        }
        CHECK_OK(eg_tokenizer_decode(w->tokenizer, &decoder, token, out + used, room - used - 1,
                                     &length, &error),
                 error);
        used += length;
        out[used] = 0;
    }
    eg_tokens_release(w->tokenizer, &tokens);
}

static void check_file(const char *path, const char *vocabulary, const json_t *texts) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    writer w = {0};
    char got[8192];
    const char *name = strrchr(path, '/');
    CHECK_OK(eg_context_create(&context, NULL, &error), error);
    CHECK_OK(eg_model_open(context, path, &model, &error), error);
    CHECK_OK(eg_tokenizer_open(context, vocabulary, &w.tokenizer, &error), error);
    CHECK_OK(eg_generator_create(model, &(eg_generator_options){.context = 256}, &w.g, &error),
             error);
    CHECK_OK(eg_sampler_create(context, 512, NULL, &w.sampler, &error), error);
    for (size_t i = 0; w.g && w.tokenizer && i < json_array_size(texts); i++) {
        const json_t *one = json_array_get(texts, i);
        const char *prompt = json_string_value(json_object_get(one, "prompt"));
        const char *text = json_string_value(json_object_get(one, "text"));
        const json_int_t steps = json_integer_value(json_object_get(one, "steps"));
        CHECK(prompt && text && steps > 0, "no text %zu", i);
        if (!prompt || !text) continue;
        write_text(&w, prompt, (size_t)steps, got, sizeof got);
        size_t same = 0;
        while (got[same] && got[same] == text[same]) same++;
        CHECK(strcmp(got, text) == 0, "%s, '%s': at %zu '%.40s' instead of '%.40s'", name + 1,
              prompt, same, got + same, text + same);
    }
    eg_sampler_destroy(w.sampler);
    eg_generator_destroy(w.g);
    eg_tokenizer_destroy(w.tokenizer);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

TEST(stories, greedy) {
    char list[512], checkpoint[512], vocabulary[512], gguf[512];
    if (!test_data("models")) {
        test_skip("no data");
        return;
    }
    snprintf(list, sizeof list, "%s", test_data("models/stories260K.greedy.json"));
    snprintf(checkpoint, sizeof checkpoint, "%s", test_data("models/stories260K.bin"));
    snprintf(vocabulary, sizeof vocabulary, "%s", test_data("models/tok512.bin"));
    snprintf(gguf, sizeof gguf, "%s", test_data("models/stories260K.gguf"));
    json_t *texts = json_load_file(list, 0, NULL);
    if (!texts) {
        test_skip("no '%s'", list);
        return;
    }
    CHECK(json_array_size(texts) > 0, "no texts in '%s'", list);
    check_file(checkpoint, vocabulary, texts);
    check_file(gguf, gguf, texts);
    json_decref(texts);
}
