/* elegans tokenize: text as the ids of a vocabulary, ids as text, or the vocabulary itself. */
#include "cli/commands/bytes.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *model, *text;
    bool ids, decode, json, ends, special;
} settings;

/* ---- the vocabulary */
static void show_special(const eg_tokenizer *t, eg_special special, json *object) {
    const int64_t id = eg_tokenizer_special(t, special);
    if (id < 0) return;
    size_t length;
    const char *piece = eg_tokenizer_piece(t, (uint32_t)id, &length);
    char *shown = bytes_printable(piece, length, !object), value[96];
    snprintf(value, sizeof value, "%-7lld %s", (long long)id, shown);
    if (object) json_put_count(object, eg_special_name(special), (uint64_t)id);
    else print_row(eg_special_name(special), value, "");
    free(shown);
}

static int show_vocabulary(const eg_tokenizer *t, const settings *w) {
    const char *kind = eg_tokenizer_kind_name(eg_tokenizer_kind_get(t));
    if (w->json) {
        if (!json_usable()) return json_print(NULL);
        json *document = json_new_object(), *special = json_new_object();
        json_put_text(document, "model", w->model);
        json_put_text(document, "kind", kind);
        json_put_count(document, "tokens", eg_tokenizer_size(t));
        for (unsigned i = 0; i < EG_SPECIAL_COUNT; i++) show_special(t, (eg_special)i, special);
        json_put(document, "special", special);
        return json_print(document);
    }
    char value[32];
    print_title(w->model, kind);
    snprintf(value, sizeof value, "%zu", eg_tokenizer_size(t));
    print_row("tokens", value, "counted");
    for (unsigned i = 0; i < EG_SPECIAL_COUNT; i++) show_special(t, (eg_special)i, NULL);
    return CLI_OK;
}

/* ---- text to ids */
static void print_ids(const eg_tokens *tokens) {
    for (size_t i = 0; i < tokens->count; i++) printf("%s%u", i ? " " : "", tokens->ids[i]);
    putchar('\n');
}

static void print_tokens(const eg_tokenizer *t, const eg_tokens *tokens) {
    for (size_t i = 0; i < tokens->count; i++) {
        size_t length;
        const char *piece = eg_tokenizer_piece(t, tokens->ids[i], &length);
        char *shown = bytes_printable(piece, length, true);
        printf("%8u  '%s'", tokens->ids[i], shown);
        if (eg_tokenizer_is_special(t, tokens->ids[i]))
            printf("  %sspecial%s", style_dim(), style_end());
        putchar('\n');
        free(shown);
    }
}

static int print_tokens_json(const eg_tokenizer *t, const eg_tokens *tokens, const settings *w) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object(), *ids = json_new_list(), *pieces = json_new_list();
    for (size_t i = 0; i < tokens->count; i++) {
        size_t length;
        const char *piece = eg_tokenizer_piece(t, tokens->ids[i], &length);
        char *shown = bytes_printable(piece, length, false);
        json_append_count(ids, tokens->ids[i]);
        json_append_text(pieces, shown);
        free(shown);
    }
    json_put_text(document, "model", w->model);
    json_put_count(document, "count", tokens->count);
    json_put(document, "ids", ids);
    json_put(document, "pieces", pieces);
    return json_print(document);
}

static int encode(const eg_tokenizer *t, const settings *w, const char *text, size_t length) {
    const eg_encode_options options = {.ends = w->ends, .special = w->special};
    eg_tokens tokens;
    eg_error error;
    int code = CLI_OK;
    if (eg_tokenizer_encode(t, text, length, &options, &tokens, &error)) return fail_with(&error);
    if (w->json) code = print_tokens_json(t, &tokens, w);
    else if (w->ids) print_ids(&tokens);
    else print_tokens(t, &tokens);
    eg_tokens_release(t, &tokens);
    return code;
}

/* ---- ids to text */
static int decode_one(const eg_tokenizer *t, eg_decoder *decoder, const char *word, size_t size,
                      bytes *out) {
    int64_t id;
    size_t length;
    eg_error error;
    if (eg_integer_parse(word, size, 0, UINT32_MAX, &id, &error)) return fail_with(&error);
    eg_tokenizer_piece(t, (uint32_t)id, &length);
    bytes_reserve(out, length + EG_DECODE_EXTRA);
    if (eg_tokenizer_decode(t, decoder, (uint32_t)id, out->at + out->count, out->room - out->count,
                            &length, &error))
        return fail_with(&error);
    out->count += length;
    return CLI_OK;
}

static int print_text(const settings *w, const bytes *out) {
    if (w->json) {
        if (!json_usable()) return json_print(NULL);
        json *document = json_new_object();
        char *shown = bytes_printable(out->at, out->count, false);
        json_put_text(document, "model", w->model);
        json_put_text(document, "text", shown);
        free(shown);
        return json_print(document);
    }
    fwrite(out->at, 1, out->count, stdout);
    putchar('\n');
    return CLI_OK;
}

static int decode(const eg_tokenizer *t, const settings *w, const char *text, size_t length) {
    static const char between[] = " ,\t\r\n[]";
    eg_decoder decoder = {.special = w->special};
    bytes out = {0};
    int code = CLI_OK;
    for (size_t at = 0; !code && at < length;) {
        size_t end = at;
        while (end < length && !(text[end] && strchr(between, text[end]))) end++;
        if (end > at) code = decode_one(t, &decoder, text + at, end - at, &out);
        at = end + 1;
    }
    bytes_reserve(&out, 4);
    out.count += eg_decoder_finish(&decoder, out.at + out.count);
    if (!code) code = print_text(w, &out);
    free(out.at);
    return code;
}

/* ---- the command */
static int tokenize(const eg_tokenizer *t, const settings *w) {
    if (!w->text) return show_vocabulary(t, w);
    bytes input = {0};
    const bool piped = strcmp(w->text, "-") == 0;
    int code = piped ? bytes_read_stdin(&input) : CLI_OK;
    const char *text = piped ? input.at : w->text;
    const size_t length = piped ? input.count : strlen(w->text);
    if (!code) code = w->decode ? decode(t, w, text, length) : encode(t, w, text, length);
    free(input.at);
    return code;
}

int cmd_tokenize(int argc, char **argv) {
    settings w = {0};
    const context_flags flags = {.threads = 1};
    const option options[] = {
        {"--ids", OPTION_FLAG, &w.ids, NULL, "print only ids, in one line"},
        {"--decode", OPTION_FLAG, &w.decode, NULL, "the text is a list of ids: decode it"},
        {"--ends", OPTION_FLAG, &w.ends, NULL, "add the model's begin and end tokens"},
        {"--special", OPTION_FLAG, &w.special, NULL,
         "special tokens in the text count, and are shown by --decode"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print as JSON"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "tokenize MODEL [TEXT|-] [--ids|--decode] [--ends] [--special] [--json]",
        "Shows the tokens of a text (- reads it from stdin), the text of token ids, or, without\n"
        "a text, what the vocabulary is. MODEL is a GGUF file, a\n"
        "tokenizer.json of Hugging Face, or a tokenizer.bin of llama2.c.",
        options,
        "  elegans tokenize stories.gguf 'Once upon a time'\n"
        "  elegans tokenize tokenizer.json - --ids < story.txt\n"
        "  elegans tokenize stories.gguf '1 403 407 261 378' --decode\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest != 1 && rest != 2) return fail(EXIT_USAGE, "tokenize needs a model, and one text");
    if (w.ids && (w.decode || w.json))
        return fail(EXIT_USAGE, "--ids and --%s exclude each other", w.decode ? "decode" : "json");
    w.model = argv[0];
    w.text = rest == 2 ? argv[1] : NULL;
    if (!w.text && (w.ids || w.decode || w.ends || w.special))
        return fail(EXIT_USAGE, "tokenize needs a text, or - for stdin");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    eg_tokenizer *tokenizer;
    eg_error error;
    if (eg_tokenizer_open(context, w.model, &tokenizer, &error)) code = fail_with(&error);
    else code = tokenize(tokenizer, &w);
    eg_tokenizer_destroy(tokenizer);
    eg_context_destroy(context);
    return code;
}
