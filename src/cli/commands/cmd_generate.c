/* elegans generate: text from a decoder, shown as it comes. */
#include "cli/commands/generate.h"
#include "cli/interrupt.h"
#include "cli/publishing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct writer { /* of tokens, as text */
    const language *language;
    const generate_settings *settings;
    eg_decoder decoder;
    generate_result *result;
    eg_publisher *publisher;
    bool closed; /* the reader has closed the pipe */
} writer;

static double now(void) { return 1e-9 * (double)eg_clock_ns(); }

/* ---- showing */

/* Nobody reads any more: what is left of the text, also in the buffer of stdout, goes nowhere. */
static void drop_output(void) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0) return;
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    clearerr(stdout);
}

static void show(writer *w, const char *text, size_t length) {
    if (w->settings->json) bytes_append(&w->result->text, text, length);
    else if (length && (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0)) {
        w->closed = true;
        if (errno == EPIPE) drop_output(); /* but a full disk is reported at the end */
    }
}

/* The text of a token; `quiet` only moves on. */
static int show_token(writer *w, uint32_t token, bool quiet) {
    const language *l = w->language;
    eg_error error;
    char byte = (char)token;
    if (!l->tokenizer) {
        if (!quiet) show(w, &byte, 1);
        return CLI_OK;
    }
    size_t length;
    if (!eg_tokenizer_piece(l->tokenizer, token, &length))
        return CLI_OK; /* beyond the vocabulary */
    bytes piece = {0};
    bytes_reserve(&piece, length + EG_DECODE_EXTRA);
    const eg_status status = eg_tokenizer_decode(l->tokenizer, &w->decoder, token, piece.at,
                                                 piece.room, &length, &error);
    if (!status && !quiet) show(w, piece.at, length);
    free(piece.at);
    return status ? fail_with(&error) : CLI_OK;
}

static void show_end(writer *w) {
    char held[4];
    const size_t count = w->language->tokenizer ? eg_decoder_finish(&w->decoder, held) : 0;
    show(w, held, count);
    if (!w->settings->json) show(w, "\n", 1);
}

/* ---- tokens */

/* One after the other, until something ends it. */
static int decode(writer *w, eg_generator *g, eg_sampler *sampler, const float *logits) {
    generate_result *r = w->result;
    const double start = now();
    eg_error error;
    int code = CLI_OK;
    r->stopped = "length";
    while (r->tokens < w->settings->count && !code) {
        uint32_t token;
        if (interrupted()) r->stopped = "interrupt";
        else if (w->closed) r->stopped = "closed";
        if (strcmp(r->stopped, "length") != 0) break;
        if (eg_sampler_next(sampler, logits, &token, &error)) return fail_with(&error);
        if (language_ends(w->language, token) && !w->settings->ignore_end) {
            r->stopped = "end";
            break;
        }
        r->ids[r->tokens++] = token;
        code = show_token(w, token, false);
        if (code || r->tokens == w->settings->count) break;
        r->info.size = sizeof r->info;
        eg_generator_info_get(g, &r->info);
        eg_publisher_begin(w->publisher);
        const eg_status status = eg_generator_feed(g, &token, 1, &logits, &error);
        if (status == EG_ERR_BUDGET) {
            r->stopped = "context";
            break;
        }
        if (status) return fail_with(&error);
        const double read =
            (double)(r->info.weight_bytes + (r->info.length + 1) * r->info.token_bytes);
        eg_publisher_cost(w->publisher, 0, read);
        eg_publisher_end(w->publisher);
        eg_publisher_tokens(w->publisher, 1);
        r->steps++;
        r->read += read;
    }
    r->seconds = now() - start;
    return code;
}

static int begin(writer *w, eg_generator *g, const uint32_t *ids, size_t count,
                 const float **logits) {
    generate_result *r = w->result;
    eg_error error;
    r->info.size = sizeof r->info;
    eg_generator_info_get(g, &r->info);
    if (count > r->info.context) /* before any of it is shown */
        return fail(EXIT_FAILED, "a prompt of %zu tokens does not fit the context of %llu", count,
                    (unsigned long long)r->info.context);
    if (!w->settings->json) show(w, w->settings->prompt, w->settings->prompt_length);
    for (size_t i = 0; i < count; i++) {
        const int code = show_token(w, ids[i], true);
        if (code) return code;
    }
    if (eg_generator_prepare(g, count, &error)) return fail_with(&error);
    const double start = now();
    r->ready_seconds = start - r->begun;
    if (eg_generator_feed(g, ids, count, logits, &error)) return fail_with(&error);
    r->prompt_seconds = now() - start;
    r->prompt_tokens = count;
    eg_publisher_tokens(w->publisher, count);
    return CLI_OK;
}

static int generate(const language *l, const generate_settings *settings,
                    const eg_generator_options *options, generate_result *r) {
    eg_generator *g;
    eg_sampler *sampler = NULL;
    eg_error error;
    uint32_t *ids;
    size_t count;
    writer w = {.language = l, .settings = settings, .result = r};
    int code = language_encode(l, settings->prompt, settings->prompt_length, &ids, &count);
    if (code) return code;
    if (!count) ids[count++] = 0; /* bytes: something must come first */
    if (eg_generator_create(l->model, options, &g, &error) ||
        eg_sampler_create(l->context, l->info.vocabulary, &settings->sampling, &sampler, &error))
        code = fail_with(&error);
    r->ids = calloc((size_t)settings->count + 1, sizeof *r->ids);
    if (!code && !r->ids)
        code = fail(EXIT_FAILED, "no memory for %llu tokens", (unsigned long long)settings->count);
    const float *logits = NULL;
    if (!code) w.publisher = publish_open(l->context, "generate", settings->model, NULL, false);
    interrupt_begin();
    if (!code) code = begin(&w, g, ids, count, &logits);
    if (!code) code = decode(&w, g, sampler, logits);
    interrupt_end();
    if (!code) {
        show_end(&w);
        r->info.size = sizeof r->info;
        eg_generator_info_get(g, &r->info);
    }
    eg_publisher_close(w.publisher);
    eg_sampler_destroy(sampler);
    eg_generator_destroy(g);
    free(ids);
    return code;
}

/* ---- the command */
static int read_cache(const char *text, eg_type *out) {
    static const struct {
        const char *name;
        eg_type type;
    } types[] = {{"f32", EG_F32}, {"f16", EG_F16}, {"int8", EG_I8}};
    for (size_t i = 0; text && i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, text) == 0) {
            *out = types[i].type;
            return CLI_OK;
        }
    return text ? fail(EXIT_USAGE, "--cache: '%s' is not f32, f16 or int8", text) : CLI_OK;
}

static int run(eg_context *context, const generate_settings *w,
               const eg_generator_options *options) {
    language l;
    generate_result r = {.begun = now()};
    int code = language_open(&l, context, w->model, w->tokenizer);
    if (!code) code = generate(&l, w, options, &r);
    if (!code) {
        const bool stopped = strcmp(r.stopped, "interrupt") == 0;
        if (w->json) code = generate_print_json(context, &l, w, &r);
        else if (w->stats) generate_print_stats(context, &l, &r);
        if (stopped) code = EXIT_STOPPED;
    }
    free(r.text.at);
    free(r.ids);
    language_close(&l);
    return code;
}

int cmd_generate(int argc, char **argv) {
    generate_settings w = {
        .prompt = "", .count = 128, .sampling = {.temperature = 0.8, .top_k = 40, .top_p = 0.95}};
    eg_generator_options how = {0};
    context_flags flags = {0};
    const option options[] = {
        {"-p", OPTION_TEXT, &w.prompt, "PROMPT", "the prompt (- reads it from stdin)"},
        {"-n", OPTION_WHOLE, &w.count, "N", "tokens to generate (default 128)"},
        {"--temp", OPTION_NUMBER, &w.sampling.temperature, "T",
         "temperature, 0 = greedy (default 0.8)"},
        {"--top-k", OPTION_WHOLE, &w.sampling.top_k, "K",
         "sample from the K likeliest, 0 = all (default 40)"},
        {"--top-p", OPTION_NUMBER, &w.sampling.top_p, "P",
         "sample from the likeliest of total probability P (default 0.95)"},
        {"--seed", OPTION_WHOLE, &w.sampling.seed, "N", "random seed of the sampler (default 0)"},
        {"--context", OPTION_COUNT, &how.context, "N", "tokens of prompt and text together"},
        {"--cache", OPTION_TEXT, &w.cache, "TYPE", "type of the KV cache: f32, f16 or int8"},
        {"--chunk", OPTION_COUNT, &how.chunk, "N", "prompt tokens processed at once (default 128)"},
        {"--tokenizer", OPTION_TEXT, &w.tokenizer, "FILE", "vocabulary, if not the model's own"},
        {"--no-map", OPTION_FLAG, &flags.no_map, NULL,
         "read the model instead of mapping it: often faster"},
        {"--ignore-end", OPTION_FLAG, &w.ignore_end, NULL, "continue after an end token"},
        {"--stats", OPTION_FLAG, &w.stats, NULL, "print speeds on stderr at the end"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print text, tokens and speeds as JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "generate MODEL [-p PROMPT] [-n N] [--temp T] [--top-k K] [--top-p P] [--seed N] "
        "[--stats] [--json] ...",
        "Continues a text, token by token. MODEL is a GGUF file, a checkpoint of llama2.c, a\n"
        "folder of Hugging Face, a file of elegans, or a spec. It is mapped, not copied (with\n"
        "--no-map it is read into huge pages: it starts later and runs faster); no network\n"
        "access is needed. Ctrl-C ends the text.",
        options,
        "  elegans generate stories.gguf -p 'Once upon a time' --temp 0\n"
        "  elegans generate model/ -p - -n 64 --stats < prompt.txt\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1) return fail(EXIT_USAGE, "generate needs one model: a file, a folder or a spec");
    w.model = argv[0];
    code = read_cache(w.cache, &how.cache);
    if (code) return code;
    bytes prompt = {0};
    if (strcmp(w.prompt, "-") == 0) {
        code = bytes_read_stdin(&prompt);
        w.prompt = prompt.at;
        w.prompt_length = prompt.count;
    } else w.prompt_length = strlen(w.prompt);
    signal(SIGPIPE, SIG_IGN); /* a reader that had enough ends the text, not the program */
    eg_context *context = NULL;
    if (!code) code = context_open(&flags, &context);
    if (!code) code = run(context, &w, &how);
    eg_context_destroy(context);
    free(prompt.at);
    return code;
}
