/* Text files of the commands: written beside and renamed, or stdout. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(const char *path, const char *why) {
    return fail(EXIT_FAILED, "cannot write '%s': %s", path, why);
}

int output_check(const char *path, bool regular) {
    struct stat there;
    if (stat(path, &there) == 0) {
        if (S_ISDIR(there.st_mode)) return cannot(path, "it is a folder");
        if (regular && !S_ISREG(there.st_mode)) return cannot(path, "not a regular file");
        if (!S_ISREG(there.st_mode)) return CLI_OK;
    }
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = take_memory(length + 2, 1);
    snprintf(folder, length + 2, "%.*s.", (int)length, path); /* "a/." of "a/b", "." of "b" */
    const bool fine = path[0] && access(folder, W_OK | X_OK) == 0;
    const int reason = path[0] ? errno : ENOENT;
    free(folder);
    return fine ? CLI_OK : cannot(path, strerror(reason));
}

int output_model(const char *path) {
    static const char end[] = ".safetensors";
    const size_t length = strlen(path);
    if (length >= sizeof end && strcmp(path + length - (sizeof end - 1), end) == 0) return CLI_OK;
    return fail(EXIT_USAGE, "'%s' does not end in .safetensors, which is what is written", path);
}

bool output_device(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

/* Files that are open when the program ends early (out of memory) are incomplete and removed. */
enum { PENDING_MAX = 8 };
static eg_file_output *pending[PENDING_MAX];

static void abort_pending(void) {
    for (int i = 0; i < PENDING_MAX; i++)
        if (pending[i]) eg_file_abort(pending[i]);
}

static void remember(eg_file_output *beside) {
    static bool registered;
    if (!registered) registered = atexit(abort_pending) == 0;
    int i = 0;
    while (i < PENDING_MAX && pending[i]) i++;
    if (i < PENDING_MAX) pending[i] = beside;
}

static void forget(eg_file_output *beside) {
    for (int i = 0; i < PENDING_MAX; i++)
        if (pending[i] == beside) pending[i] = NULL;
    free(beside);
}

static FILE *begin_beside(output_file *o, char message[256]) {
    eg_error error;
    o->beside = take_memory(1, sizeof *o->beside);
    if (eg_file_begin(o->path, o->beside, &error)) {
        snprintf(message, 256, "%s", error.message);
        free(o->beside);
        o->beside = NULL;
        return NULL;
    }
    /* closing the stream must not close what is yet to be brought to the disk */
    const int copy = dup(o->beside->descriptor);
    FILE *file = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (file) remember(o->beside);
    if (file) return file;
    snprintf(message, 256, "cannot write '%s': %s", o->path, strerror(errno));
    if (copy >= 0) close(copy);
    eg_file_abort(o->beside);
    free(o->beside);
    o->beside = NULL;
    return NULL;
}

int output_begin(output_file *o, const char *path) {
    char message[256];
    *o = (output_file){.path = path, .file = stdout};
    if (!path) return CLI_OK;
    const int code = output_check(path, false);
    if (code) return code;
    /* a pipe or a device takes what comes; a rename would put a file in its place */
    if (output_device(path)) {
        o->file = fopen(path, "w");
        return o->file ? CLI_OK : cannot(path, strerror(errno));
    }
    o->file = begin_beside(o, message);
    return o->file ? CLI_OK : fail(EXIT_FAILED, "%s", message);
}

int output_end(output_file *o) {
    eg_error error;
    int code = CLI_OK;
    if (!o->path) return CLI_OK;
    const bool bad = ferror(o->file) != 0;
    if (fclose(o->file) != 0 || bad) code = cannot(o->path, strerror(errno));
    if (!code && o->beside && eg_file_commit(o->beside, &error)) code = fail_with(&error);
    else if (code && o->beside) eg_file_abort(o->beside);
    forget(o->beside);
    return code;
}

void output_abort(output_file *o) {
    if (!o->path) return;
    fclose(o->file);
    if (o->beside) eg_file_abort(o->beside);
    forget(o->beside);
}

/* ---- what the library made */
bool output_report(eg_report *report, FILE *file) {
    size_t length;
    const char *text = eg_report_text(report, &length);
    const bool ends = length && text[length - 1] == '\n';
    const bool fine = fwrite(text, 1, length, file) == length && (ends || fputc('\n', file) != EOF);
    eg_report_destroy(report);
    return fine;
}

int output_report_file(eg_report *report, const char *path) {
    output_file file;
    const int code = output_begin(&file, path);
    if (code) eg_report_destroy(report);
    else output_report(report, file.file);
    return code ? code : output_end(&file);
}

int output_document(eg_report *report, FILE *file) {
    if (output_report(report, file) && fflush(file) == 0) return CLI_OK;
    return fail(EXIT_FAILED, "cannot write JSON: %s", strerror(errno));
}

/* ---- logs: each line is there at once, so what is kept of an old one is written beside before */
int output_log(const char *path, bool (*keep)(void *user, const char *line), void *user,
               FILE **out) {
    output_file fresh;
    char *line = NULL;
    size_t room = 0;
    *out = NULL;
    if (!output_device(path)) {
        FILE *old = keep ? fopen(path, "r") : NULL;
        if (keep && !old && errno != ENOENT) return cannot(path, strerror(errno));
        int code = output_begin(&fresh, path);
        const bool begun = !code;
        while (begun && old && getline(&line, &room, old) >= 0)
            if (keep(user, line)) fputs(line, fresh.file);
        if (begun && old && !feof(old)) code = cannot(path, strerror(errno)); /* not all of it */
        if (!code) code = output_end(&fresh);
        else if (begun) output_abort(&fresh);
        free(line);
        if (old) fclose(old);
        if (code) return code;
    }
    *out = fopen(path, "a");
    return *out ? CLI_OK : cannot(path, strerror(errno));
}
