/* Text files of the commands: written beside and renamed, or stdout. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int output_begin(output_file *o, const char *path) {
    *o = (output_file){.path = path, .file = stdout};
    if (!path) return -1;
    const size_t size = strlen(path) + 8;
    o->temporary = malloc(size);
    if (!o->temporary) return fail(EXIT_FAILED, "no memory");
    snprintf(o->temporary, size, "%s.XXXXXX", path);
    const int descriptor = mkstemp(o->temporary);
    if (descriptor >= 0) { /* as readable as any other new file */
        const mode_t mask = umask(0);
        umask(mask);
        fchmod(descriptor, 0666 & ~mask);
    }
    o->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (o->file) return -1;
    const int code = fail(EXIT_FAILED, "cannot write '%s': %s", path, strerror(errno));
    free(o->temporary);
    return code;
}

int output_end(output_file *o) {
    if (!o->path) return -1;
    const bool bad = ferror(o->file) != 0;
    int code = -1;
    if (fclose(o->file) != 0 || bad || rename(o->temporary, o->path) != 0) {
        code = fail(EXIT_FAILED, "cannot write '%s': %s", o->path, strerror(errno));
        unlink(o->temporary);
    }
    free(o->temporary);
    return code;
}
