/* Reads .gguf: a fixed head, metadata, descriptions of tensors, and data that they must describe. */
#include "formats/files/bytes.h"
#include "formats/files/gguf.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are read as they lie in files");

enum { HEAD_SIZE = 24, VERSION_MIN = 2, VERSION_MAX = 3 };

bool eg__gguf_is(const eg__head *head) { return eg__head_has(head, 0, "GGUF", 4); }

const unsigned char *eg__gguf_take(eg__gguf_cursor *cursor, uint64_t size) {
    if (size > cursor->size - cursor->at) return NULL;
    const unsigned char *at = cursor->bytes + cursor->at;
    cursor->at += (size_t)size;
    return at;
}

eg_status eg__gguf_cut(const eg__gguf_cursor *cursor, const char *within, eg_error *error) {
    return eg__fail(error, EG_ERR_FORMAT, "file ends at byte '%zu', within %s", cursor->size,
                    within);
}

eg_status eg__gguf_take_text(eg__gguf_cursor *cursor, const char *what, const char **text,
                             size_t *length, eg_error *error) {
    const unsigned char *at = eg__gguf_take(cursor, 8);
    if (!at) return eg__gguf_cut(cursor, what, error);
    const uint64_t size = eg__get64(at);
    *text = (const char *)eg__gguf_take(cursor, size);
    *length = (size_t)size;
    return *text ? EG_OK
                 : eg__fail(error, EG_ERR_FORMAT, "%s of '%llu' bytes in the last %zu", what,
                            (unsigned long long)size, cursor->size - cursor->at);
}

static eg_status parse(eg_gguf *file, const unsigned char *bytes, size_t size, eg_error *error) {
    eg__gguf_cursor cursor = {bytes, size, 0};
    if (size < 4 || memcmp(bytes, "GGUF", 4) != 0)
        return eg__fail(error, EG_ERR_FORMAT, "not a GGUF file: another magic number");
    const unsigned char *head = eg__gguf_take(&cursor, HEAD_SIZE);
    if (!head) return eg__gguf_cut(&cursor, "its head", error);
    const uint32_t version = eg__get32(head + 4);
    if (version && !(version & 0xffff))
        return eg__fail(error, EG_ERR_UNSUPPORTED, "big-endian GGUF");
    if (version < VERSION_MIN || version > VERSION_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "GGUF version '%u' is not within %d..%d",
                        version, VERSION_MIN, VERSION_MAX);
    const uint64_t tensors = eg__get64(head + 8), entries = eg__get64(head + 16);
    eg_status status = eg__gguf_read_entries(file, &cursor, entries, error);
    return status ? status : eg__gguf_read_tensors(file, &cursor, tensors, error);
}

eg_status eg__gguf_parse(eg__memory *memory, const void *bytes, size_t size, eg_gguf **out,
                         eg_error *error) {
    *out = NULL;
    void *block;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, sizeof **out, &block, error);
    if (status) return status;
    eg_gguf *file = block;
    memset(file, 0, sizeof *file);
    file->memory = memory;
    status = parse(file, bytes, size, error);
    if (status) eg_gguf_close(file);
    else *out = file;
    return status;
}

eg_status eg__gguf_load(eg__memory *memory, const char *path, bool maps, eg_gguf **out,
                        eg_error *error) {
    *out = NULL;
    eg__mapping mapping;
    eg_status status = eg__mapping_open(&mapping, memory, path, maps, error);
    if (status) return status;
    void *copy;
    const size_t length = strlen(path) + 1;
    status = eg__file_take(memory, EG_TAG_FILE, length, &copy, error);
    if (!status) status = eg__gguf_parse(memory, mapping.bytes, mapping.size, out, error);
    if (status) {
        eg__memory_give(memory, copy);
        eg__mapping_close(&mapping, memory);
        return eg__file_blame(error, status, "", path);
    }
    (*out)->path = memcpy(copy, path, length);
    (*out)->mapping = mapping;
    return EG_OK;
}

void eg_gguf_close(eg_gguf *file) {
    if (!file) return;
    eg__memory *memory = file->memory;
    for (size_t i = 0; i < file->entry_count; i++) {
        eg__memory_give(memory, file->entries[i].key);
        eg__memory_give(memory, file->entries[i].starts);
    }
    eg__mapping_close(&file->mapping, memory);
    eg__memory_give(memory, file->path);
    eg__memory_give(memory, file->entries);
    eg__memory_give(memory, file->entries_sorted);
    eg__memory_give(memory, file->tensors);
    eg__memory_give(memory, file->tensors_sorted);
    eg__memory_give(memory, file);
}
