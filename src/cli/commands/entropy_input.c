/* Reads an input of any length in pieces and hands on the entropies of its bytes. */
#include "cli/commands/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 65536 };

static int cannot(const char *verb, const char *path) {
    return fail(EXIT_FAILED, "cannot %s '%s': %s", verb, path, strerror(errno));
}

static mode_t mode_of(FILE *file) {
    struct stat facts;
    return fstat(fileno(file), &facts) == 0 ? facts.st_mode : 0;
}

static int spool(entropy_input *input) {
    char piece[PIECE];
    FILE *copy = tmpfile();
    if (!copy) return fail(EXIT_FAILED, "cannot create a temporary file: %s", strerror(errno));
    for (size_t n; (n = fread(piece, 1, sizeof piece, input->file)) > 0;)
        if (fwrite(piece, 1, n, copy) != n) break;
    int code = CLI_OK;
    if (ferror(input->file)) code = cannot("read", input->path);
    else if (fflush(copy) != 0 || ferror(copy)) code = cannot("copy", input->path);
    if (input->file != stdin) fclose(input->file);
    input->file = copy;
    rewind(copy);
    return code;
}

int entropy_open(entropy_input *input, const char *path, bool again) {
    const bool standard = strcmp(path, "-") == 0;
    *input = (entropy_input){standard ? "stdin" : path, standard ? stdin : fopen(path, "rb")};
    if (!input->file) return cannot("open", path);
    const mode_t mode = mode_of(input->file);
    if (S_ISDIR(mode)) return fail(EXIT_FAILED, "cannot read '%s': it is a folder", input->path);
    /* stdin may be a file, but whoever read its beginning does not want it back */
    return again && (standard || !S_ISREG(mode)) ? spool(input) : CLI_OK;
}

void entropy_close(entropy_input *input) {
    if (input->file && input->file != stdin) fclose(input->file);
    input->file = NULL;
}

typedef struct walk {
    entropy_input *input;
    eg_entropy *entropy;
    entropy_taker *take;
    void *user;
    unsigned char bytes[PIECE];
    float values[PIECE];
} walk;

static int walk_all(walk *w) {
    eg_error error;
    size_t given;
    int code = CLI_OK;
    for (size_t n; !code && (n = fread(w->bytes, 1, PIECE, w->input->file)) > 0;) {
        if (eg_entropy_push(w->entropy, w->bytes, n, w->values, &given, &error))
            return fail_with(&error);
        code = w->take(w->user, w->values, given);
    }
    if (ferror(w->input->file)) return cannot("read", w->input->path);
    while (!code && (given = eg_entropy_end(w->entropy, w->values, PIECE)))
        code = w->take(w->user, w->values, given);
    return code;
}

int entropy_walk(entropy_input *input, eg_context *context, uint64_t window, entropy_taker *take,
                 void *user) {
    eg_error error;
    walk *w = take_memory(1, sizeof *w);
    w->input = input, w->take = take, w->user = user;
    int code;
    if (eg_entropy_create(context, window, &w->entropy, &error)) code = fail_with(&error);
    else code = walk_all(w);
    eg_entropy_destroy(w->entropy);
    free(w);
    return code;
}
