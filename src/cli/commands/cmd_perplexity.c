/* elegans perplexity: how surprised a decoder is by a text. */
#include "cli/commands/bytes.h"
#include "cli/interrupt.h"
#include "cli/commands/language.h"
#include "cli/publishing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_LEAST = 3 }; /* the first is given, the second begins the second half */

typedef struct watch {
    uint64_t all; /* tokens that will be predicted, about */
    bool shows;
    eg_publisher *publisher;
    uint64_t told, told_ns; /* tokens that were published, and when */
} watch;

static int tell(void *user, const eg_surprise *now) {
    watch *w = user;
    const uint64_t time = eg_clock_ns();
    eg_publisher_tokens(w->publisher, now->tokens - w->told);
    eg_publisher_add(w->publisher, 1, 1e-9 * (double)(time - w->told_ns));
    w->told = now->tokens;
    w->told_ns = time;
    if (w->shows)
        fprintf(stderr, "\r  %5.1f %%  perplexity %-12.4f",
                w->all ? 100 * (double)now->tokens / (double)w->all : 0, exp2(now->bits));
    return interrupted();
}

static int print(const eg_surprise *s, const char *model, const char *text, size_t tokens,
                 size_t bytes_read, uint64_t piece, double seconds, bool as_json) {
    const double value = exp2(s->bits), off = value * log(2.0) * s->deviation;
    const eg_metric metric = {value, EG_MEASURED, NULL, "2^bits per token"};
    const eg_metric bits = {s->bits, EG_MEASURED, "bits/token", "mean of -log2 p"};
    /* bits of the predicted tokens, as if all were like them, over the bytes they stand for */
    const eg_metric per_byte = {s->bits * (double)tokens / (double)bytes_read, EG_MODELLED,
                                "bits/byte", "bits per token times tokens per byte of the text"};
    if (as_json) {
        if (!json_usable()) return json_print(NULL);
        json *document = json_new_object();
        json_put_text(document, "model", model);
        json_put_text(document, "text", text);
        json_put_count(document, "tokens", tokens);
        json_put_count(document, "predicted", s->tokens);
        json_put_count(document, "piece", piece);
        json_put_metric(document, "perplexity", &metric);
        json_put_number(document, "uncertainty", off);
        json_put_metric(document, "bits_per_token", &bits);
        json_put_metric(document, "bits_per_byte", &per_byte);
        json_put_number(document, "seconds", seconds);
        return json_print(document);
    }
    char row[96], rate[32];
    print_title(model, text);
    snprintf(row, sizeof row, "%.4f +- %.4f", value, off);
    print_row("perplexity", row, "measured");
    snprintf(row, sizeof row, "%.4f per token, %.4f per byte", s->bits, per_byte.value);
    print_row("bits", row, "measured, modelled");
    snprintf(row, sizeof row, "%zu, of which %llu were predicted", tokens,
             (unsigned long long)s->tokens);
    print_row("tokens", row, "counted");
    snprintf(row, sizeof row, "%s tokens/s", format_short(rate, 2 * (double)s->tokens / seconds));
    print_row("speed", row, "measured");
    return CLI_OK;
}

static int run(const language *l, const char *model, const char *path, uint64_t piece,
               bool as_json) {
    bytes text = {0};
    uint32_t *ids = NULL;
    size_t count = 0;
    eg_error error;
    eg_surprise s = {0};
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(l->model, &info);
    if (info.kind != EG_MODEL_DECODER)
        return fail(EXIT_FAILED, "'%s' is an encoder, which predicts no token", model);
    int code = strcmp(path, "-") == 0 ? bytes_read_stdin(&text) : bytes_read_file(path, &text);
    if (!code) code = language_encode(l, text.at, text.count, &ids, &count);
    if (!code) {
        if (!piece) piece = l->info.context < 512 ? l->info.context : 512;
        watch w = {.all = count / piece * (piece - 1 - piece / 2),
                   .shows = isatty(STDERR_FILENO) != 0};
        const uint64_t start = eg_clock_ns();
        w.publisher = publish_open(l->context, "perplexity", model, NULL, false);
        w.told_ns = start;
        interrupt_begin();
        if (eg_perplexity(l->model, ids, count, piece, language_begin(l), tell, &w, &s, &error))
            code = fail_with(&error);
        interrupt_end();
        eg_publisher_close(w.publisher);
        if (w.shows) fprintf(stderr, "\r%40s\r", "");
        const double seconds = 1e-9 * (double)(eg_clock_ns() - start);
        if (!code) code = print(&s, model, path, count, text.count, piece, seconds, as_json);
        if (!code && interrupted()) code = EXIT_STOPPED;
    }
    free(ids);
    free(text.at);
    return code;
}

int cmd_perplexity(int argc, char **argv) {
    const char *tokenizer = NULL;
    uint64_t piece = 0;
    bool as_json = false;
    context_flags flags = {0};
    const option options[] = {
        {"--context", OPTION_COUNT, &piece, "N",
         "tokens of a piece (default 512, or the model's context)"},
        {"--tokenizer", OPTION_TEXT, &tokenizer, "FILE", "vocabulary, if not the model's own"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "perplexity MODEL FILE|- [--context N] [--json]",
        "Perplexity of a decoder on a text: the text is cut into pieces, and the tokens of the\n"
        "second half of each are predicted from all tokens before them, as in llama.cpp.",
        options,
        "  elegans perplexity stories.gguf story.txt\n"
        "  elegans perplexity small.safetensors story.txt --tokenizer stories.gguf --json\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 2) return fail(EXIT_USAGE, "perplexity needs a model and a text");
    if (piece && piece < PIECE_LEAST)
        return fail(EXIT_USAGE, "--context: pieces of %llu tokens are too short to predict one",
                    (unsigned long long)piece);
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    language l;
    code = language_open(&l, context, argv[0], tokenizer);
    if (!code) code = run(&l, argv[0], argv[1], piece, as_json);
    language_close(&l);
    eg_context_destroy(context);
    return code;
}
