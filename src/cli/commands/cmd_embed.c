/* elegans embed: texts as rows of numbers, to be compared. */
#include "cli/commands/bytes.h"
#include "cli/commands/language.h"
#include "cli/publishing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *tokenizer, *pooling, *output, *activations;
    bool json, unscaled, scaled, compare;
} settings;

typedef struct rows {
    size_t count;
    const char **texts;
    float *values; /* count x width */
    size_t width;
} rows;

static int read_pooling(const settings *w, eg_embedder_options *out) {
    const char *name;
    out->unscaled = w->unscaled;
    out->scaled = w->scaled;
    if (w->scaled && w->unscaled)
        return fail(EXIT_USAGE, "--scaled and --unscaled exclude each other");
    if (!w->pooling) return CLI_OK;
    for (unsigned i = 0; (name = eg_pooling_name((eg_pooling)i)); i++)
        if (strcmp(name, w->pooling) == 0) {
            out->pooled = 1;
            out->pooling = (eg_pooling)i;
            return CLI_OK;
        }
    return fail(EXIT_USAGE, "--pooling: '%s' is not mean, first, last, max, mean_sqrt or weighted",
                w->pooling);
}

static int embed(const language *l, eg_embedder *e, rows *all, eg_publisher *publisher) {
    for (size_t i = 0; i < all->count; i++) {
        uint32_t *ids;
        size_t count;
        eg_error error;
        int code = language_encode(l, all->texts[i], strlen(all->texts[i]), &ids, &count);
        if (code) return code;
        eg_publisher_begin(publisher);
        if (!count) code = fail(EXIT_FAILED, "text %zu has no tokens", i + 1);
        else if (eg_embedder_run(e, ids, count, all->values + i * all->width, &error))
            code = fail(EXIT_FAILED, "text %zu: %s", i + 1, error.message);
        eg_publisher_end(publisher);
        eg_publisher_tokens(publisher, count);
        free(ids);
        if (code) return code;
    }
    return CLI_OK;
}

static double likeness(const rows *all, size_t i, size_t k) {
    const float *a = all->values + i * all->width, *b = all->values + k * all->width;
    double dot = 0, aa = 0, bb = 0;
    for (size_t c = 0; c < all->width; c++) {
        dot += (double)a[c] * (double)b[c];
        aa += (double)a[c] * (double)a[c];
        bb += (double)b[c] * (double)b[c];
    }
    return aa > 0 && bb > 0 ? dot / sqrt(aa * bb) : 0;
}

static void print_rows(const rows *all) {
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->width; k++)
            printf("%.6g%c", (double)all->values[i * all->width + k],
                   k + 1 < all->width ? ' ' : '\n');
}

/* Six texts beside each other fit a terminal; more go below. */
static void print_cosines(const rows *all) {
    enum { BESIDE = 6, LABEL = 28 };
    print_title("cosine of text and text", "1 = the same direction");
    for (size_t from = 0; from < all->count; from += BESIDE) {
        const size_t end = from + BESIDE < all->count ? from + BESIDE : all->count;
        printf("  %*s", LABEL + 4, "");
        for (size_t k = from; k < end; k++) printf("%7zu", k + 1);
        putchar('\n');
        for (size_t i = 0; i < all->count; i++) {
            char *text = bytes_printable(all->texts[i], strlen(all->texts[i]), false);
            printf("  %3zu ", i + 1);
            print_padded(text, LABEL);
            free(text);
            for (size_t k = from; k < end; k++) printf("%7.3f", likeness(all, i, k));
            putchar('\n');
        }
    }
}

static int print_json(const rows *all, const char *model, bool compare) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object(), *list = json_new_list();
    json_put_text(document, "model", model);
    json_put_count(document, "width", all->width);
    for (size_t i = 0; i < all->count; i++) {
        json *entry = json_new_object(), *row = json_new_list(), *like = json_new_list();
        char *text = bytes_printable(all->texts[i], strlen(all->texts[i]), false);
        json_put_text(entry, "text", text);
        free(text);
        for (size_t k = 0; k < all->width; k++)
            json_append_number(row, (double)all->values[i * all->width + k]);
        for (size_t k = 0; k < all->count; k++) json_append_number(like, likeness(all, i, k));
        json_put(entry, "row", row);
        if (compare) json_put(entry, "cosine", like);
        else json_free(like);
        json_append(list, entry);
    }
    json_put(document, "texts", list);
    return json_print(document);
}

static int save(const rows *all, const char *path) {
    const eg_tensor tensor = {EG_F32, 2, {all->count, all->width}, all->values};
    eg_error error;
    return eg_npy_write(path, &tensor, &error) ? fail_with(&error) : CLI_OK;
}

/* The same texts with activations of f32. */
static int compare(const language *l, eg_embedder_options options, const rows *all) {
    eg_embedder *e = NULL;
    eg_error error;
    rows exact = *all;
    const eg_type type = options.activations;
    options.activations = EG_F32;
    if (eg_embedder_create(l->model, &options, &e, &error)) return fail_with(&error);
    exact.values = take_memory(all->count * all->width, sizeof *exact.values);
    const int code = embed(l, e, &exact, NULL);
    if (!code)
        print_activations(type, &(eg_tensor){EG_F32, 2, {all->count, all->width}, exact.values},
                          &(eg_tensor){EG_F32, 2, {all->count, all->width}, all->values});
    free(exact.values);
    eg_embedder_destroy(e);
    return code;
}

static int run(eg_context *context, const char *model, rows *all, const settings *w) {
    language l;
    eg_embedder *e = NULL;
    eg_embedder_options options = {.size = sizeof options};
    eg_error error;
    int code = read_pooling(w, &options);
    if (!code) code = read_activations(w->activations, &options.activations);
    if (code) return code;
    code = language_open(&l, context, model, w->tokenizer);
    if (!code && eg_embedder_create(l.model, &options, &e, &error)) code = fail_with(&error);
    if (!code) all->width = (size_t)eg_embedder_width(e);
    if (!code) all->values = take_memory(all->count * all->width, sizeof *all->values);
    if (!code) {
        eg_publisher *publisher = publish_open(context, "embed", model, NULL, false);
        code = embed(&l, e, all, publisher);
        eg_publisher_close(publisher);
    }
    if (!code && options.activations) code = compare(&l, options, all);
    if (!code && w->output) code = save(all, w->output);
    if (!code && w->json) code = print_json(all, model, w->compare);
    else if (!code) {
        if (w->compare) print_cosines(all);
        else if (!w->output) print_rows(all);
    }
    eg_embedder_destroy(e);
    language_close(&l);
    free(all->values);
    return code;
}

/* The lines of stdin: ends become NUL, empty lines are no texts. */
static int read_lines(bytes *input, rows *all) {
    const int code = bytes_read_stdin(input);
    if (code) return code;
    bytes_append(input, "\n", 1);
    size_t lines = 0;
    for (size_t i = 0; i < input->count; i++) lines += input->at[i] == '\n';
    all->texts = take_memory(lines, sizeof *all->texts);
    for (char *at = input->at, *end = at + input->count; at < end;) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        *stop = 0;
        if (*at) all->texts[all->count++] = at;
        at = stop + 1;
    }
    return CLI_OK;
}

int cmd_embed(int argc, char **argv) {
    settings w = {0};
    context_flags flags = {0};
    const option options[] = {
        {"--pooling", OPTION_TEXT, &w.pooling, "HOW",
         "mean, first, last, max, mean_sqrt, weighted (the model's)"},
        {"--unscaled", OPTION_FLAG, &w.unscaled, NULL, "do not normalize embeddings"},
        {"--scaled", OPTION_FLAG, &w.scaled, NULL, "normalize embeddings, whatever the model says"},
        {"--compare", OPTION_FLAG, &w.compare, NULL,
         "print cosine similarities of all pairs instead"},
        {"--output", OPTION_TEXT, &w.output, "FILE", "write the embeddings as .npy"},
        {"--tokenizer", OPTION_TEXT, &w.tokenizer, "FILE", "vocabulary, if not the model's own"},
        {"--activations", OPTION_TEXT, &w.activations, "TYPE",
         "what products multiply: f32, bf16 or f16, and its error"},
        {"--json", OPTION_FLAG, &w.json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "embed MODEL [TEXT ...|-] [--pooling HOW] [--compare] [--output FILE] [--json]",
        "Embeddings of texts: the output of the last layer of an encoder or decoder, pooled\n"
        "over the tokens. - reads texts from stdin, one per line.",
        options,
        "  elegans embed bge.gguf 'a cat' 'a kitten' 'a bond' --compare\n"
        "  elegans embed model/ - --output rows.npy < lines.txt\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest < 2) return fail(EXIT_USAGE, "embed needs a model, and at least one text");
    bytes input = {0};
    rows all = {.count = (size_t)rest - 1, .texts = (const char **)argv + 1};
    const bool piped = rest == 2 && strcmp(argv[1], "-") == 0;
    if (piped) {
        all = (rows){0};
        code = read_lines(&input, &all);
    }
    if (!code && !all.count) code = fail(EXIT_USAGE, "embed: no text on stdin");
    eg_context *context = NULL;
    if (!code) code = context_open(&flags, &context);
    if (!code) code = run(context, argv[0], &all, &w);
    eg_context_destroy(context);
    if (piped) free(all.texts);
    free(input.at);
    return code;
}
