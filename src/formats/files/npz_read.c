/* Reads .npz archives: the directory when it is opened, an array when it is asked for. */
#include "formats/files/bytes.h"
#include "formats/files/npy.h"
#include "formats/files/npz.h"
#include "formats/files/utf8.h"
#include "formats/files/zip.h"

#include <stdlib.h>
#include <string.h>

typedef struct array {
    const char *name; /* without ".npy" */
    const eg__zip_entry *entry;
} array;

struct eg_npz {
    eg__memory *memory;
    eg__source source;
    char *path; /* for messages; NULL for bytes in memory */
    eg__zip zip;
    size_t count;
    array *arrays;   /* in the order of the directory */
    array **by_name; /* the same, sorted */
    char *names;
};

static const char extension[] = ".npy";
enum { EXTENSION_LENGTH = sizeof extension - 1 };

static bool is_array(const eg__zip_entry *entry) {
    return entry->name_length >= EXTENSION_LENGTH &&
           memcmp(entry->name + entry->name_length - EXTENSION_LENGTH, extension,
                  EXTENSION_LENGTH) == 0;
}

/* A zip archive begins with the header of its first member: 30 bytes, then its name. */
bool eg__npz_is(const eg__head *head) {
    enum { LENGTH_AT = 26, NAME_AT = 30 };
    if (!eg__head_has(head, 0, "PK\3\4", 4) || head->size < NAME_AT) return false;
    const size_t length = eg__get16(head->bytes + LENGTH_AT);
    return length >= EXTENSION_LENGTH &&
           eg__head_has(head, NAME_AT + length - EXTENSION_LENGTH, extension, EXTENSION_LENGTH);
}

static int compare_names(const void *a, const void *b) {
    const array *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static eg_status take_lists(eg_npz *npz, eg_error *error) {
    size_t letters = 0;
    for (size_t i = 0; i < npz->zip.count; i++) {
        if (!is_array(&npz->zip.entries[i])) continue;
        npz->count++;
        letters += npz->zip.entries[i].name_length - EXTENSION_LENGTH + 1;
    }
    /* Each is smaller than the directory of which it is a part, so these products fit. */
    void *arrays, *by_name, *names;
    eg_status status =
        eg__file_take(npz->memory, EG_TAG_FILE, npz->count * sizeof *npz->arrays, &arrays, error);
    if (status) return status;
    npz->arrays = arrays;
    status =
        eg__file_take(npz->memory, EG_TAG_FILE, npz->count * sizeof *npz->by_name, &by_name, error);
    if (status) return status;
    npz->by_name = by_name;
    status = eg__file_take(npz->memory, EG_TAG_FILE, letters, &names, error);
    npz->names = names;
    return status;
}

static eg_status list_arrays(eg_npz *npz, eg_error *error) {
    eg_status status = take_lists(npz, error);
    if (status) return status;
    char *name = npz->names;
    for (size_t i = 0, at = 0; i < npz->zip.count; i++) {
        const eg__zip_entry *entry = &npz->zip.entries[i];
        if (!is_array(entry)) continue;
        size_t length = entry->name_length - EXTENSION_LENGTH;
        if (memchr(entry->name, 0, length))
            return eg__fail(error, EG_ERR_FORMAT, "name of member '%zu' contains a zero byte", i);
        if (!eg__utf8_bytes(entry->name, length)) {
            char shown[64];
            return eg__fail(error, EG_ERR_FORMAT, "name '%s' of member '%zu' is not UTF-8",
                            eg__file_quote(shown, sizeof shown, entry->name, length), i);
        }
        npz->arrays[at] = (array){name, entry};
        npz->by_name[at] = &npz->arrays[at];
        at++;
        memcpy(name, entry->name, length);
        name[length] = 0;
        name += length + 1;
    }
    qsort(npz->by_name, npz->count, sizeof *npz->by_name, compare_names);
    for (size_t i = 1; i < npz->count; i++)
        if (compare_names(&npz->by_name[i - 1], &npz->by_name[i]) == 0) {
            char shown[64];
            const char *twice = npz->by_name[i]->name;
            return eg__fail(error, EG_ERR_FORMAT, "two arrays are called '%s'",
                            eg__file_quote(shown, sizeof shown, twice, strlen(twice)));
        }
    return EG_OK;
}

/* Takes `source` over, also when it fails. */
static eg_status open_source(eg__memory *memory, eg__source source, const char *path, eg_npz **out,
                             eg_error *error) {
    *out = NULL;
    void *block;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, sizeof **out, &block, error);
    if (status) {
        eg__source_close(&source);
        return status;
    }
    eg_npz *npz = block;
    memset(npz, 0, sizeof *npz);
    npz->memory = memory;
    npz->source = source;
    if (path) {
        void *copy;
        size_t size = strlen(path) + 1;
        status = eg__file_take(memory, EG_TAG_FILE, size, &copy, error);
        if (!status) npz->path = memcpy(copy, path, size);
    }
    if (!status) status = eg__zip_open(&npz->zip, memory, &npz->source, error);
    if (!status) status = list_arrays(npz, error);
    if (status) eg_npz_close(npz);
    else *out = npz;
    return status;
}

eg_status eg__npz_open(eg__memory *memory, const char *path, eg_npz **out, eg_error *error) {
    *out = NULL;
    eg__source source;
    eg_status status = eg__source_open(&source, path, error);
    if (status) return status;
    status = open_source(memory, source, path, out, error);
    return status ? eg__file_blame(error, status, "", path) : EG_OK;
}

eg_status eg__npz_open_bytes(eg__memory *memory, const void *bytes, size_t length, eg_npz **out,
                             eg_error *error) {
    return open_source(memory, eg__source_of_bytes(bytes, length), NULL, out, error);
}

void eg_npz_close(eg_npz *npz) {
    if (!npz) return;
    eg__memory *memory = npz->memory;
    eg__source_close(&npz->source);
    eg__zip_close(&npz->zip, memory);
    eg__memory_give(memory, npz->arrays);
    eg__memory_give(memory, npz->by_name);
    eg__memory_give(memory, npz->names);
    eg__memory_give(memory, npz->path);
    eg__memory_give(memory, npz);
}

size_t eg_npz_count(const eg_npz *npz) { return npz ? npz->count : 0; }

const char *eg_npz_name(const eg_npz *npz, size_t index) {
    return npz && index < npz->count ? npz->arrays[index].name : NULL;
}

uint64_t eg__npz_bytes(const eg_npz *npz) {
    uint64_t sum = 0;
    for (size_t i = 0; i < npz->count; i++)
        sum += eg__min(npz->arrays[i].entry->size, UINT64_MAX - sum);
    return sum;
}

/* The bytes of a member in order, with the checksum of what has been read. */
typedef struct member {
    const eg__source *source;
    uint64_t at;
    eg__inflate *inflate; /* NULL = stored */
    uint32_t crc;
} member;

static eg_status member_read(void *user, void *out, size_t size, eg_error *error) {
    member *from = user;
    eg_status status = from->inflate ? eg__inflate_read(from->inflate, out, size, error)
                                     : eg__source_read(from->source, from->at, out, size, error);
    if (status) return status;
    from->at += size;
    from->crc = eg__crc32(from->crc, out, size);
    return EG_OK;
}

static eg_status read_member(eg_npz *npz, const eg__zip_entry *entry, eg__npy_layout *layout,
                             eg_tensor *out, eg_error *error) {
    member from = {&npz->source, 0, NULL, 0};
    eg_status status = eg__zip_locate(&npz->zip, &npz->source, entry, &from.at, error);
    if (status) return status;
    if (entry->method == EG__ZIP_DEFLATED)
        status = eg__inflate_begin(&from.inflate, npz->memory, &npz->source, from.at, entry->packed,
                                   error);
    if (status) return status;
    eg__stream stream = {member_read, &from, entry->size};
    status = eg__npy_decode_stream(npz->memory, &stream, layout, out, error);
    if (!status && from.inflate) status = eg__inflate_finish(from.inflate, error);
    if (!status && from.crc != entry->crc)
        status = eg__fail(error, EG_ERR_FORMAT, "checksum '%08x' where %08x belongs",
                          (unsigned)from.crc, (unsigned)entry->crc);
    eg__inflate_end(from.inflate);
    if (!status) return EG_OK;
    eg__memory_give(npz->memory, out->data);
    memset(out, 0, sizeof *out);
    return status;
}

static eg_status read_named(eg_npz *npz, const char *name, eg__npy_layout *layout, eg_tensor *out,
                            eg_error *error) {
    array wanted = {name, NULL}, *key = &wanted;
    array *const *found =
        bsearch(&key, npz->by_name, npz->count, sizeof *npz->by_name, compare_names);
    if (!found) return eg__fail(error, EG_ERR_NOT_FOUND, "no array '%s'", name);
    eg_status status = read_member(npz, (*found)->entry, layout, out, error);
    return status ? eg__file_blame(error, status, "array", name) : EG_OK;
}

eg_status eg__npz_read(eg_npz *npz, const char *name, eg__npy_layout *layout, eg_tensor *out,
                       eg_error *error) {
    if (!npz || !name || !out)
        return eg__fail(error, EG_ERR_ARGUMENT,
                        "no archive, no name or no output pointer for an array");
    memset(out, 0, sizeof *out);
    eg_status status = read_named(npz, name, layout, out, error);
    return status && npz->path ? eg__file_blame(error, status, "", npz->path) : status;
}

eg_status eg_npz_read(eg_npz *npz, const char *name, eg_tensor *out, eg_error *error) {
    return eg__npz_read(npz, name, NULL, out, error);
}
