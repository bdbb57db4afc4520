/* The metadata of .gguf: every key and value checked, texts of arrays found once. */
#include "formats/files/bytes.h"
#include "formats/files/gguf.h"
#include "formats/files/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARRAY = 9,
    LENGTH_SIZE = 8,
    TYPE_SIZE = 4,
    ENTRY_SIZE_MIN = LENGTH_SIZE + 1 + TYPE_SIZE + 1
};

static int compare_keys(const void *a, const void *b) {
    const eg__gguf_entry *left = *(eg__gguf_entry *const *)a, *right = *(eg__gguf_entry *const *)b;
    return strcmp(left->key, right->key);
}

static eg_status blame(const eg__gguf_entry *entry, eg_status status, eg_error *error) {
    char shown[64];
    return eg__file_blame(error, status, "key",
                          eg__file_quote(shown, sizeof shown, entry->key, strlen(entry->key)));
}

static eg_status read_key(eg_gguf *file, eg__gguf_cursor *cursor, eg__gguf_entry *entry,
                          eg_error *error) {
    const char *text;
    size_t length;
    eg_status status = eg__gguf_take_text(cursor, "a key", &text, &length, error);
    if (status) return status;
    if (!length) return eg__fail(error, EG_ERR_FORMAT, "empty key before byte '%zu'", cursor->at);
    char shown[64];
    eg__file_quote(shown, sizeof shown, text, length);
    if (memchr(text, 0, length))
        return eg__fail(error, EG_ERR_FORMAT, "key '%s' has a zero byte", shown);
    eg_error mine = {0};
    entry->key = eg__memory_take_text(file->memory, EG_TAG_FILE, text, length, &mine);
    if (!entry->key) return eg__fail(error, mine.status, "%s", mine.message);
    entry->about.key = entry->key;
    if (!eg__utf8_valid(entry->key))
        return eg__fail(error, EG_ERR_FORMAT, "key '%s' is not UTF-8", shown);
    return EG_OK;
}

/* Remembers where each text of an array begins, so that the last one costs no walk. */
static eg_status read_texts(eg_gguf *file, eg__gguf_cursor *cursor, eg__gguf_entry *entry,
                            eg_error *error) {
    const uint64_t count = entry->about.count;
    if (count > (cursor->size - cursor->at) / LENGTH_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' texts in the last %zu bytes",
                        (unsigned long long)count, cursor->size - cursor->at);
    void *block;
    eg_status status = eg__file_take(file->memory, EG_TAG_FILE,
                                     (size_t)count * sizeof *entry->starts, &block, error);
    if (status) return status;
    entry->starts = block;
    const size_t begin = cursor->at;
    for (uint64_t i = 0; i < count; i++) {
        const char *text;
        size_t length;
        entry->starts[i] = cursor->at - begin;
        status = eg__gguf_take_text(cursor, "a text of an array", &text, &length, error);
        if (status) return status;
    }
    return EG_OK;
}

static eg_status check_flags(const eg__gguf_entry *entry, eg_error *error) {
    for (uint64_t i = 0; i < entry->about.count; i++)
        if (entry->values[i] > 1)
            return eg__fail(error, EG_ERR_FORMAT, "'%u' is no flag", entry->values[i]);
    return EG_OK;
}

static eg_status read_values(eg_gguf *file, eg__gguf_cursor *cursor, eg__gguf_entry *entry,
                             eg_error *error) {
    const char *text;
    size_t length;
    entry->values = cursor->bytes + cursor->at;
    if (entry->about.type == EG_GGUF_TEXT)
        return entry->about.is_array ? read_texts(file, cursor, entry, error)
                                     : eg__gguf_take_text(cursor, "a text", &text, &length, error);
    const size_t bytes = eg__gguf_type_bytes(entry->about.type);
    if (entry->about.count > (cursor->size - cursor->at) / bytes)
        return entry->about.is_array
                   ? eg__fail(error, EG_ERR_FORMAT, "array of '%llu' values in the last %zu bytes",
                              (unsigned long long)entry->about.count, cursor->size - cursor->at)
                   : eg__gguf_cut(cursor, "a value", error);
    eg__gguf_take(cursor, entry->about.count * bytes);
    return entry->about.type == EG_GGUF_FLAG ? check_flags(entry, error) : EG_OK;
}

static eg_status read_value(eg_gguf *file, eg__gguf_cursor *cursor, eg__gguf_entry *entry,
                            eg_error *error) {
    const unsigned char *at = eg__gguf_take(cursor, TYPE_SIZE);
    if (!at) return eg__gguf_cut(cursor, "a type", error);
    uint32_t type = eg__get32(at);
    entry->about.count = 1;
    if (type == ARRAY) {
        at = eg__gguf_take(cursor, TYPE_SIZE + LENGTH_SIZE);
        if (!at) return eg__gguf_cut(cursor, "the head of an array", error);
        type = eg__get32(at);
        entry->about.is_array = true;
        entry->about.count = eg__get64(at + TYPE_SIZE);
        if (type == ARRAY) return eg__fail(error, EG_ERR_FORMAT, "array of arrays");
    }
    if (!eg__gguf_type_known(type))
        return eg__fail(error, EG_ERR_FORMAT, "unknown type '%u' of a value", type);
    entry->about.type = (eg_gguf_type)type;
    return read_values(file, cursor, entry, error);
}

static eg_status check_keys(eg_gguf *file, eg_error *error) {
    for (size_t i = 0; i < file->entry_count; i++) file->entries_sorted[i] = &file->entries[i];
    qsort(file->entries_sorted, file->entry_count, sizeof *file->entries_sorted, compare_keys);
    for (size_t i = 1; i < file->entry_count; i++) {
        const char *key = file->entries_sorted[i]->key;
        char shown[64];
        if (strcmp(key, file->entries_sorted[i - 1]->key) == 0)
            return eg__fail(error, EG_ERR_FORMAT, "two entries have the key '%s'",
                            eg__file_quote(shown, sizeof shown, key, strlen(key)));
    }
    return EG_OK;
}

eg_status eg__gguf_read_entries(eg_gguf *file, eg__gguf_cursor *cursor, uint64_t count,
                                eg_error *error) {
    if (count > (cursor->size - cursor->at) / ENTRY_SIZE_MIN)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' entries in a file of %zu bytes",
                        (unsigned long long)count, cursor->size);
    eg_error mine = {0};
    file->entries = eg__memory_take_array(file->memory, EG_TAG_FILE, (size_t)count,
                                          sizeof *file->entries, &mine);
    if (file->entries)
        file->entries_sorted = eg__memory_take_array(file->memory, EG_TAG_FILE, (size_t)count,
                                                     sizeof *file->entries_sorted, &mine);
    if (mine.status) return eg__fail(error, mine.status, "%s", mine.message);
    for (size_t i = 0; i < count; i++) {
        eg__gguf_entry *entry = &file->entries[i];
        file->entry_count = i + 1; /* what was taken for it is given back, also after a failure */
        eg_status status = read_key(file, cursor, entry, error);
        if (status) return status;
        status = read_value(file, cursor, entry, error);
        if (status) return blame(entry, status, error);
    }
    return check_keys(file, error);
}
