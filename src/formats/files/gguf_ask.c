/* What may be asked of an open .gguf: entries by key with their types, tensors by name. */
#include "formats/files/bytes.h"
#include "formats/files/gguf.h"

#include <stdlib.h>
#include <string.h>

static eg_status blame(const eg_gguf *file, eg_status status, eg_error *error) {
    return file->path ? eg__file_blame(error, status, "", file->path) : status;
}

static int compare_key(const void *key, const void *entry) {
    return strcmp(key, (*(eg__gguf_entry *const *)entry)->key);
}

static int compare_name(const void *name, const void *tensor) {
    return strcmp(name, (*(eg__gguf_tensor *const *)tensor)->name);
}

static const eg__gguf_entry *find(const eg_gguf *file, const char *key, eg_error *error) {
    if (!file || !key) {
        eg__fail(error, EG_ERR_ARGUMENT, "no file or no key");
        return NULL;
    }
    eg__gguf_entry *const *found = file->entry_count
                                       ? bsearch(key, file->entries_sorted, file->entry_count,
                                                 sizeof *file->entries_sorted, compare_key)
                                       : NULL;
    if (found) return *found;
    blame(file, eg__fail(error, EG_ERR_NOT_FOUND, "no key '%s'", key), error);
    return NULL;
}

/* The entry of `key` whose value `index` there is; *status says why there is none. */
static const eg__gguf_entry *find_value(const eg_gguf *file, const char *key, uint64_t index,
                                        eg_status *status, eg_error *error) {
    const eg__gguf_entry *entry = find(file, key, error);
    *status = !file || !key ? EG_ERR_ARGUMENT : EG_ERR_NOT_FOUND;
    if (!entry || index < entry->about.count) return entry;
    blame(file,
          eg__fail(error, EG_ERR_NOT_FOUND, "no value '%llu' of '%s', which has %llu",
                   (unsigned long long)index, key, (unsigned long long)entry->about.count),
          error);
    return NULL;
}

static eg_status wrong(const eg_gguf *file, const eg__gguf_entry *entry, const char *wanted,
                       eg_error *error) {
    return blame(file,
                 eg__fail(error, EG_ERR_FORMAT, "'%s' is '%s', not %s", entry->key,
                          eg_gguf_type_name(entry->about.type), wanted),
                 error);
}

/* ---- entries */
size_t eg_gguf_entry_count(const eg_gguf *file) { return file ? file->entry_count : 0; }

eg_status eg_gguf_entry_at(const eg_gguf *file, size_t index, eg_gguf_entry *out) {
    memset(out, 0, sizeof *out);
    if (index >= eg_gguf_entry_count(file)) return EG_ERR_NOT_FOUND;
    *out = file->entries[index].about;
    return EG_OK;
}

eg_status eg_gguf_entry_find(const eg_gguf *file, const char *key, eg_gguf_entry *out,
                             eg_error *error) {
    memset(out, 0, sizeof *out);
    const eg__gguf_entry *entry = find(file, key, error);
    if (!entry) return !file || !key ? EG_ERR_ARGUMENT : EG_ERR_NOT_FOUND;
    *out = entry->about;
    return EG_OK;
}

/* ---- values */
eg_status eg_gguf_text(const eg_gguf *file, const char *key, uint64_t index, const char **text,
                       size_t *length, eg_error *error) {
    eg_status status;
    *text = NULL;
    *length = 0;
    const eg__gguf_entry *entry = find_value(file, key, index, &status, error);
    if (!entry) return status;
    if (entry->about.type != EG_GGUF_TEXT) return wrong(file, entry, "text", error);
    const unsigned char *at = entry->values + (entry->starts ? entry->starts[index] : 0);
    *length = (size_t)eg__get64(at);
    *text = (const char *)at + 8;
    return EG_OK;
}

/* The bits of an integer, and whether they are below zero; false when the type is none. */
static bool integer_of(const eg__gguf_entry *entry, uint64_t index, uint64_t *bits, bool *below) {
    const unsigned char *at = entry->values + index * eg__gguf_type_bytes(entry->about.type);
    switch (entry->about.type) {
    case EG_GGUF_U8: *bits = *at; break;
    case EG_GGUF_I8: *bits = (uint64_t)(int8_t)*at; break;
    case EG_GGUF_U16: *bits = eg__get16(at); break;
    case EG_GGUF_I16: *bits = (uint64_t)(int16_t)eg__get16(at); break;
    case EG_GGUF_U32: *bits = eg__get32(at); break;
    case EG_GGUF_I32: *bits = (uint64_t)(int32_t)eg__get32(at); break;
    case EG_GGUF_U64:
    case EG_GGUF_I64: *bits = eg__get64(at); break;
    default: return false;
    }
    *below = entry->about.type != EG_GGUF_U64 && (int64_t)*bits < 0;
    return true;
}

eg_status eg_gguf_integer(const eg_gguf *file, const char *key, uint64_t index, int64_t *out,
                          eg_error *error) {
    eg_status status;
    uint64_t bits;
    bool below;
    const eg__gguf_entry *entry = find_value(file, key, index, &status, error);
    if (!entry) return status;
    if (!integer_of(entry, index, &bits, &below)) return wrong(file, entry, "an integer", error);
    if (bits > INT64_MAX && !below)
        return blame(file,
                     eg__fail(error, EG_ERR_OVERFLOW, "'%llu' of '%s' has more than 63 bits",
                              (unsigned long long)bits, key),
                     error);
    *out = (int64_t)bits;
    return EG_OK;
}

eg_status eg_gguf_number(const eg_gguf *file, const char *key, uint64_t index, double *out,
                         eg_error *error) {
    eg_status status;
    uint64_t bits;
    bool below;
    const eg__gguf_entry *entry = find_value(file, key, index, &status, error);
    if (!entry) return status;
    if (integer_of(entry, index, &bits, &below))
        *out = below ? (double)(int64_t)bits : (double)bits;
    else if (entry->about.type == EG_GGUF_F32) {
        float value;
        memcpy(&value, entry->values + index * sizeof value, sizeof value);
        *out = (double)value;
    } else if (entry->about.type == EG_GGUF_F64)
        memcpy(out, entry->values + index * sizeof *out, sizeof *out);
    else return wrong(file, entry, "a number", error);
    return EG_OK;
}

eg_status eg_gguf_flag(const eg_gguf *file, const char *key, uint64_t index, int *out,
                       eg_error *error) {
    eg_status status;
    const eg__gguf_entry *entry = find_value(file, key, index, &status, error);
    if (!entry) return status;
    if (entry->about.type != EG_GGUF_FLAG) return wrong(file, entry, "bool", error);
    *out = entry->values[index];
    return EG_OK;
}

/* ---- tensors */
size_t eg_gguf_tensor_count(const eg_gguf *file) { return file ? file->tensor_count : 0; }

eg_status eg_gguf_tensor_at(const eg_gguf *file, size_t index, eg_gguf_tensor *out) {
    memset(out, 0, sizeof *out);
    if (index >= eg_gguf_tensor_count(file)) return EG_ERR_NOT_FOUND;
    *out = file->tensors[index].about;
    return EG_OK;
}

eg_status eg_gguf_tensor_find(const eg_gguf *file, const char *name, eg_gguf_tensor *out,
                              eg_error *error) {
    memset(out, 0, sizeof *out);
    if (!file || !name) return eg__fail(error, EG_ERR_ARGUMENT, "no file or no name");
    eg__gguf_tensor *const *found = file->tensor_count
                                        ? bsearch(name, file->tensors_sorted, file->tensor_count,
                                                  sizeof *file->tensors_sorted, compare_name)
                                        : NULL;
    if (!found)
        return blame(file, eg__fail(error, EG_ERR_NOT_FOUND, "no tensor '%s'", name), error);
    *out = (*found)->about;
    return EG_OK;
}
