/* Text files of the commands: written beside and renamed, or stdout. */
#include "cli.h"

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
        if (!S_ISREG(there.st_mode)) return -1;
    }
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    char *folder = malloc(length + 2);
    if (!folder) return fail(EXIT_FAILED, "no memory");
    snprintf(folder, length + 2, "%.*s.", (int)length, path); /* "a/." of "a/b", "." of "b" */
    const bool fine = path[0] && access(folder, W_OK | X_OK) == 0;
    const int reason = path[0] ? errno : ENOENT;
    free(folder);
    return fine ? -1 : cannot(path, strerror(reason));
}

/* The file behind a link is replaced, not the link. */
static FILE *begin_beside(output_file *o) {
    o->real = realpath(o->path, NULL);
    const char *place = o->real ? o->real : o->path;
    const size_t size = strlen(place) + 8;
    o->temporary = malloc(size);
    if (!o->temporary) return NULL;
    snprintf(o->temporary, size, "%s.XXXXXX", place);
    const int descriptor = mkstemp(o->temporary);
    if (descriptor < 0) return NULL;
    const mode_t mask = umask(0); /* as readable as any other new file */
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
    return fdopen(descriptor, "w");
}

static void forget(output_file *o) {
    free(o->temporary);
    free(o->real);
}

bool output_device(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

int output_begin(output_file *o, const char *path) {
    *o = (output_file){.path = path, .file = stdout};
    if (!path) return -1;
    const int code = output_check(path, false);
    if (code >= 0) return code;
    /* a pipe or a device takes what comes; a rename would put a file in its place */
    o->file = output_device(path) ? fopen(path, "w") : begin_beside(o);
    if (o->file) return -1;
    const int reason = errno;
    forget(o);
    return cannot(path, strerror(reason));
}

int output_end(output_file *o) {
    if (!o->path) return -1;
    int code = -1;
    const bool bad = ferror(o->file) != 0;
    if (fclose(o->file) != 0 || bad ||
        (o->temporary && rename(o->temporary, o->real ? o->real : o->path) != 0)) {
        code = cannot(o->path, strerror(errno));
        if (o->temporary) unlink(o->temporary);
    }
    forget(o);
    return code;
}

void output_abort(output_file *o) {
    if (!o->path) return;
    fclose(o->file);
    if (o->temporary) unlink(o->temporary);
    forget(o);
}
