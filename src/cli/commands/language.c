/* A language model with its vocabulary, as the commands on texts share it. */
#include "cli/commands/language.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 256, PATH_SIZE = 4096 };

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}
static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool begins_as_gguf(const char *path) {
    char head[4] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* takes no memory, which could be missing */
    if (file < 0) return false;
    const bool yes = read(file, head, 4) == 4 && memcmp(head, "GGUF", 4) == 0;
    close(file);
    return yes;
}

/* Where the vocabulary of a model is, as far as one can tell; "" = nowhere. */
static void find_vocabulary(const eg_model *model, const char *path, char out[PATH_SIZE]) {
    const char *note = eg_model_note(model, "tokenizer", 0), *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    out[0] = 0;
    if (is_folder(path)) snprintf(out, PATH_SIZE, "%s/tokenizer.json", path);
    else if (begins_as_gguf(path)) snprintf(out, PATH_SIZE, "%s", path);
    else if (note) snprintf(out, PATH_SIZE, "%s", note);
    else {
        snprintf(out, PATH_SIZE, "%.*stokenizer.bin", folder, path);
        if (!is_file(out)) snprintf(out, PATH_SIZE, "%.*stokenizer.json", folder, path);
        if (!is_file(out)) out[0] = 0;
    }
}

static int open_vocabulary(language *l, const char *path, const char *vocabulary) {
    char found[PATH_SIZE];
    eg_error error;
    find_vocabulary(l->model, path, found);
    const char *from = vocabulary ? vocabulary : found;
    if (!from[0] || (!vocabulary && !is_file(from))) {
        if (l->info.vocabulary == BYTES) return CLI_OK;
        return fail(EXIT_FAILED, "no vocabulary for '%s': give --tokenizer FILE", path);
    }
    if (eg_tokenizer_open(l->context, from, &l->tokenizer, &error)) return fail_with(&error);
    if (eg_tokenizer_size(l->tokenizer) > l->info.vocabulary)
        return fail(EXIT_FAILED, "%zu tokens in '%s', but the model knows %llu",
                    eg_tokenizer_size(l->tokenizer), from, (unsigned long long)l->info.vocabulary);
    return CLI_OK;
}

int language_open(language *l, eg_context *context, const char *model, const char *vocabulary) {
    eg_error error;
    *l = (language){.context = context};
    if (eg_model_open(context, model, &l->model, &error)) return fail_with(&error);
    l->info.size = sizeof l->info;
    if (eg_model_transformer(l->model, &l->info, &error))
        return fail(EXIT_FAILED, "'%s' is %s", model, error.message);
    return open_vocabulary(l, model, vocabulary);
}

void language_close(language *l) {
    eg_tokenizer_destroy(l->tokenizer);
    eg_model_destroy(l->model);
    *l = (language){0};
}

int language_encode(const language *l, const char *text, size_t length, uint32_t **ids,
                    size_t *count) {
    const eg_encode_options options = {.ends = 1};
    eg_tokens tokens = {0};
    eg_error error;
    if (l->tokenizer && eg_tokenizer_encode(l->tokenizer, text, length, &options, &tokens, &error))
        return fail_with(&error);
    *count = l->tokenizer ? tokens.count : length;
    *ids = take_memory(*count + 1, sizeof **ids);
    for (size_t i = 0; i < *count; i++)
        (*ids)[i] = l->tokenizer ? tokens.ids[i] : (unsigned char)text[i];
    if (l->tokenizer) eg_tokens_release(l->tokenizer, &tokens);
    return CLI_OK;
}

int language_note(eg_model *model, const char *path) {
    char found[PATH_SIZE], *whole;
    eg_model_info info = {.size = sizeof info};
    eg_error error;
    eg_model_info_get(model, &info);
    if (info.kind == EG_MODEL_LIQUID) return CLI_OK;
    find_vocabulary(model, path, found);
    if (!found[0]) return CLI_OK;
    if (!(whole = realpath(found, NULL)))
        return errno == ENOENT ? CLI_OK : fail(EXIT_FAILED, "'%s': %s", found, strerror(errno));
    size_t at = 0;
    while (whole[at] && eg_utf8_length(whole + at)) at += eg_utf8_length(whole + at);
    /* a model file holds no path that is not UTF-8: then --tokenizer must say it */
    const bool bad =
        !whole[at] && eg_model_note_set(model, "tokenizer", 1, (const char *const *)&whole, &error);
    free(whole);
    return bad ? fail_with(&error) : CLI_OK;
}

int language_refuse(const eg_model *model, const char *who) {
    eg_model_info info = {.size = sizeof info};
    eg_model_info_get(model, &info);
    if (info.kind == EG_MODEL_LIQUID) return CLI_OK;
    return fail(EXIT_FAILED, "%s is for liquid networks, this is %s", who,
                info.kind == EG_MODEL_ENCODER ? "an encoder: see elegans embed"
                                              : "a decoder: see elegans generate");
}

int64_t language_begin(const language *l) {
    return l->tokenizer ? eg_tokenizer_special(l->tokenizer, EG_SPECIAL_BEGIN) : -1;
}

bool language_ends(const language *l, uint32_t token) {
    if (!l->tokenizer) return false;
    return eg_tokenizer_special(l->tokenizer, EG_SPECIAL_END) == (int64_t)token ||
           eg_tokenizer_special(l->tokenizer, EG_SPECIAL_BEGIN) == (int64_t)token;
}
