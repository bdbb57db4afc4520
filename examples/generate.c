/* A language model from a file: its vocabulary, a prompt, and text as it comes.
 *
 *   generate MODEL.gguf PROMPT [TOKENS] */
#include <elegans/elegans.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(eg_status status, const eg_error *error) {
    if (!status) return;
    fprintf(stderr, "generate: %s\n", error->message);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: generate MODEL.gguf PROMPT [TOKENS]\n"), 2;
    const int count = argc > 3 ? atoi(argv[3]) : 64;
    eg_context *context;
    eg_model *model;
    eg_tokenizer *tokenizer;
    eg_generator *generator;
    eg_sampler *sampler;
    eg_tokens prompt;
    eg_transformer_info info = {.size = sizeof info};
    eg_error error;
    must(eg_context_create(NULL, &context, &error), &error);
    must(eg_model_open(context, argv[1], &model, &error), &error);
    must(eg_tokenizer_open(context, argv[1], &tokenizer, &error), &error);
    must(eg_model_transformer(model, &info, &error), &error);
    must(eg_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), &(eg_encode_options){.ends = 1},
                             &prompt, &error),
         &error);

    /* all zero: the context that the model was made for, a cache of f32, the likeliest token */
    must(eg_generator_create(model, NULL, &generator, &error), &error);
    must(eg_sampler_create(context, info.vocabulary, NULL, &sampler, &error), &error);
    const float *logits;
    must(eg_generator_feed(generator, prompt.ids, prompt.count, &logits, &error), &error);

    eg_decoder decoder = {0};
    char text[256];
    size_t length;
    for (size_t i = 0; i < prompt.count; i++) /* it knows what came before */
        must(eg_tokenizer_decode(tokenizer, &decoder, prompt.ids[i], text, sizeof text, &length,
                                 &error),
             &error);
    for (int i = 0; i < count; i++) {
        uint32_t token;
        must(eg_sampler_next(sampler, logits, &token, &error), &error);
        if ((int64_t)token == eg_tokenizer_special(tokenizer, EG_SPECIAL_END)) break;
        must(eg_tokenizer_decode(tokenizer, &decoder, token, text, sizeof text, &length, &error),
             &error);
        fwrite(text, 1, length, stdout);
        must(eg_generator_feed(generator, &token, 1, &logits, &error), &error);
    }
    putchar('\n');

    eg_tokens_release(tokenizer, &prompt);
    eg_sampler_destroy(sampler);
    eg_generator_destroy(generator);
    eg_tokenizer_destroy(tokenizer);
    eg_model_destroy(model);
    eg_context_destroy(context);
    return 0;
}
