/* What run.c of llama2.c writes with stories260K, word for word, from both of its files. */
#include "test_transformer.h"

#include <jansson.h>
#include <math.h>

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

/* `some` tokens of each text, 0 = all there are; with `how`, the model in quantized numbers. */
static void check_file(const char *path, const char *vocabulary, const json_t *texts,
                       const eg_model_quantization *quantization, size_t some) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    writer w = {0};
    char got[8192];
    const char *name = strrchr(path, '/');
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, path, &model, &error), error);
    if (quantization) CHECK_OK(eg_model_quantize(model, quantization, &error), error);
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
        write_text(&w, prompt, some ? some : (size_t)steps, got, sizeof got);
        size_t same = 0;
        while (got[same] && got[same] == text[same]) same++;
        CHECK(some ? !got[same] && same > 2 * some : strcmp(got, text) == 0,
              "%s, '%s': at %zu '%.40s' instead of '%.40s'", name + 1, prompt, same, got + same,
              text + same);
    }
    eg_sampler_destroy(w.sampler);
    eg_generator_destroy(w.g);
    eg_tokenizer_destroy(w.tokenizer);
    eg_model_destroy(model);
    eg_context_destroy(context);
}

typedef struct files {
    char checkpoint[512], vocabulary[512], gguf[512];
    json_t *texts;
} files;

static bool open_files(files *f) {
    if (!test_data("models")) {
        test_skip("no data");
        return false;
    }
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s", test_data("models/stories260K.bin"));
    snprintf(f->vocabulary, sizeof f->vocabulary, "%s", test_data("models/tok512.bin"));
    snprintf(f->gguf, sizeof f->gguf, "%s", test_data("models/stories260K.gguf"));
    f->texts = json_load_file(test_data("models/stories260K.greedy.json"), 0, NULL);
    if (!f->texts) test_skip("no texts beside '%s'", f->gguf);
    else CHECK(json_array_size(f->texts) > 0, "no texts beside '%s'", f->gguf);
    return f->texts != NULL;
}

TEST(stories, greedy) {
    files f;
    if (!open_files(&f)) return;
    const size_t some = test_emulated() ? 60 : 0;
    check_file(f.checkpoint, f.vocabulary, f.texts, NULL, some);
    check_file(f.gguf, f.gguf, f.texts, NULL, some);
    json_decref(f.texts);
}

TEST(stories, int8_writes_the_same) {
    const eg_model_quantization quantization = {.quantization = {.type = EG_I8}};
    files f;
    if (!open_files(&f)) return;
    check_file(f.gguf, f.gguf, f.texts, &quantization, 50);
    json_decref(f.texts);
}

/* Perplexity of `pieces` of 128 tokens of a text. */
static double perplexity(const files *f, size_t pieces, const eg_model_quantization *quantization) {
    eg_error error;
    eg_context *context;
    eg_model *model;
    eg_tokenizer *tokenizer;
    eg_tokens tokens;
    eg_surprise s = {0};
    static char text[16384];
    FILE *file = fopen(test_path("fixtures/transformers/stories.txt"), "rb");
    const size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file) fclose(file);
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, f->gguf, &model, &error), error);
    CHECK_OK(eg_tokenizer_open(context, f->gguf, &tokenizer, &error), error);
    if (quantization) CHECK_OK(eg_model_quantize(model, quantization, &error), error);
    CHECK_OK(eg_tokenizer_encode(tokenizer, text, length, &(eg_encode_options){.ends = 1}, &tokens,
                                 &error),
             error);
    CHECK(tokens.count >= 128 * pieces, "only %zu tokens", tokens.count);
    CHECK_OK(eg_perplexity(model, tokens.ids, eg__min(tokens.count, 128 * pieces), 128, 1, NULL,
                           NULL, &s, &error),
             error);
    CHECK(s.tokens == 63 * pieces, "%llu tokens were predicted", (unsigned long long)s.tokens);
    eg_tokens_release(tokenizer, &tokens);
    eg_tokenizer_destroy(tokenizer);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return exp2(s.bits);
}

/* llama-perplexity of the same tokens: 2.4992 in f32, 2.7362 for Q4_0 --pure with ffn_down in f32. */
TEST(stories, int4_is_no_worse_than_others) {
    const char *const keep[] = {"ffn_down"};
    const eg_model_quantization quantization = {
        .quantization = {.type = EG_I4, .per = EG_PER_BLOCK, .block = 32, .least_squares = 1},
        .keep_count = 1,
        .keep = keep};
    files f;
    if (!open_files(&f)) return;
    /* the first two of these 36 pieces for an emulator, with our own number of them in f32 */
    const size_t pieces = test_emulated() ? 2 : 36;
    const double wanted = test_emulated() ? 2.17743 : 2.4992, worse = 2.7362 / 2.4992;
    const double exact = perplexity(&f, pieces, NULL),
                 small = perplexity(&f, pieces, &quantization);
    CHECK(fabs(exact - wanted) < 2e-4, "perplexity %.6f in f32", exact);
    CHECK(small > exact && small <= worse * wanted, "perplexity %g in int4", small);
    json_decref(f.texts);
}
