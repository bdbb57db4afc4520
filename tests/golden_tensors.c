/* Tensors of a golden .safetensors file by name. */
#include "golden_tensors.h"

bool golden_open(golden_file *file, const char *path) {
    FILE *stream = path ? fopen(path, "rb") : NULL;
    if (!stream) return false;
    fseek(stream, 0, SEEK_END);
    file->size = (size_t)ftell(stream);
    file->bytes = test_alloc(file->size + 1);
    rewind(stream);
    bool whole = fread(file->bytes, 1, file->size, stream) == file->size && file->size > 8;
    fclose(stream);
    file->bytes[file->size] = 0;
    file->data = 8;
    for (int i = 0; whole && i < 8; i++) file->data += (size_t)file->bytes[i] << 8 * i;
    if (whole && file->data <= file->size) return true;
    golden_close(file);
    return false;
}

const void *golden_tensor(const golden_file *file, const char *name, size_t *size) {
    char quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    const char *at = strstr((const char *)file->bytes + 8, quoted);
    if (at) at = strstr(at, "\"data_offsets\"");
    if (!at) return NULL;
    char *next;
    size_t begin = strtoull(at + strcspn(at, "0123456789"), &next, 10);
    size_t end = strtoull(next + strcspn(next, "0123456789"), NULL, 10);
    if (begin > end || end > file->size - file->data) return NULL;
    *size = end - begin;
    return file->bytes + file->data + begin;
}

void golden_close(golden_file *file) {
    free(file->bytes);
    file->bytes = NULL;
}

uint64_t golden_checksum(const void *bytes, size_t size) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return sum;
}
