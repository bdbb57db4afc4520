/* Small files below a root folder, or of this machine: the only door to the system's texts. */
#include "chip/detect.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool eg__root_open(const char *root, const char *path, eg__text *out) {
    char full[1024];
    *out = eg__text_of_bytes(NULL, 0);
    int length = snprintf(full, sizeof full, "%s/%s", root ? root : "", path);
    if (length < 0 || (size_t)length >= sizeof full) return false;
    out->descriptor = open(full, O_RDONLY | O_CLOEXEC);
    return out->descriptor >= 0;
}

void eg__root_close(eg__text *text) {
    if (text->descriptor >= 0) close(text->descriptor);
    *text = eg__text_of_bytes(NULL, 0);
}

bool eg__root_has(const char *root, const char *path) {
    char byte;
    return eg__root_read(root, path, &byte, 1) == 1;
}

size_t eg__root_read(const char *root, const char *path, char *out, size_t size) {
    eg__text file;
    size_t length = 0;
    int byte;
    if (!eg__root_open(root, path, &file)) return 0;
    while (length < size && (byte = eg__text_byte(&file)) >= 0) out[length++] = (char)byte;
    eg__root_close(&file);
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
