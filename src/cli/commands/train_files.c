/* Where a training writes: looked at before it begins, because hours later is too late. */
#include "cli/commands/train.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void checkpoint_name(char *out, size_t size, const char *given, const char *output) {
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    const int stem = dot && (!slash || dot > slash) ? (int)(dot - output) : (int)strlen(output);
    if (given) snprintf(out, size, "%s", given);
    else snprintf(out, size, "%.*s.checkpoint", stem, output);
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool files_have(const char *files, const char *path) {
    char *list = files ? take_text(files) : NULL, *rest = list, *one;
    bool found = false;
    while (list && !found && (one = strsep(&rest, ","))) found = *one && same_file(path, one);
    free(list);
    return found;
}

int files_check(const training_files *f) {
    const struct {
        const char *option, *path;
        bool regular;
    } rows[] = {{"--output", f->output, true},
                {"--checkpoint", f->checkpoint, true},
                {"--curve", f->curve, false},
                {"--log", f->log, false}};
    enum { ROWS = sizeof rows / sizeof *rows, DATA = sizeof f->data / sizeof *f->data };
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i].path) continue;
        const int code = output_check(rows[i].path, rows[i].regular);
        if (code) return code;
        if (!rows[i].regular && output_device(rows[i].path)) continue;
        for (int k = 0; k < DATA; k++)
            if (files_have(f->data[k], rows[i].path))
                return fail(EXIT_USAGE, "%s '%s' would overwrite the data", rows[i].option,
                            rows[i].path);
        for (int k = 0; k < i; k++)
            if (rows[k].path && same_file(rows[i].path, rows[k].path))
                return fail(EXIT_USAGE, "%s and %s are both '%s'", rows[k].option, rows[i].option,
                            rows[i].path);
    }
    return output_model(f->output);
}
