/* Reads the beginning of a file, to recognise its format. */
#include "formats/files/head.h"
#include "formats/files/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void eg__head_read(eg__head *out, const char *path) {
    struct stat info;
    eg__source source;
    *out = (eg__head){.path = path};
    out->is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (out->is_folder) return;
    out->unreadable = true;
    if (eg__source_open(&source, path, NULL)) return;
    out->size = source.size < EG__HEAD_SIZE ? (size_t)source.size : EG__HEAD_SIZE;
    out->unreadable = eg__source_read(&source, 0, out->bytes, out->size, NULL) != EG_OK;
    if (out->unreadable) out->size = 0;
    eg__source_close(&source);
}

void eg__head_of_bytes(eg__head *out, const void *bytes, size_t size) {
    *out = (eg__head){.size = size < EG__HEAD_SIZE ? size : EG__HEAD_SIZE};
    if (out->size) memcpy(out->bytes, bytes, out->size);
}

bool eg__head_has(const eg__head *head, size_t at, const char *bytes, size_t length) {
    return head->size >= at + length && memcmp(head->bytes + at, bytes, length) == 0;
}

bool eg__head_named(const eg__head *head, const char *end) {
    return head->path && eg__file_ends(head->path, end);
}

bool eg__head_holds(const eg__head *head, const char *file) {
    char path[EG__PATH_SIZE];
    struct stat info;
    if (!head->is_folder) return false;
    const int n = snprintf(path, sizeof path, "%s/%s", head->path, file);
    return n > 0 && (size_t)n < sizeof path && stat(path, &info) == 0;
}
