/* Small files below a root folder, or of this machine: the only door to the system's texts. */
#include "chip/detect.h"

#include <string.h>

FILE *eg__root_open(const char *root, const char *path) {
    char full[1024];
    int length = snprintf(full, sizeof full, "%s/%s", root ? root : "", path);
    if (length < 0 || (size_t)length >= sizeof full) return NULL;
    return fopen(full, "rb");
}

bool eg__root_has(const char *root, const char *path) {
    char byte;
    return eg__root_read(root, path, &byte, 1) == 1;
}

size_t eg__root_read(const char *root, const char *path, char *out, size_t size) {
    FILE *file = eg__root_open(root, path);
    if (!file) return 0;
    size_t length = fread(out, 1, size, file);
    fclose(file);
    return length;
}

bool eg__root_text(const char *root, const char *path, char *out, size_t size) {
    char raw[512];
    size_t length = eg__root_read(root, path, raw, sizeof raw);
    const char *end = memchr(raw, '\n', length);
    eg__text_clean(out, size, raw, end ? (size_t)(end - raw) : length);
    return out[0] != 0;
}

bool eg__root_number(const char *root, const char *path, uint64_t *out) {
    char text[64];
    return eg__root_text(root, path, text, sizeof text) && eg__text_number(text, out);
}
