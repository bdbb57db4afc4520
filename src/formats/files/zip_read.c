/* Reads the directory of a zip archive from its end, zip64 included. */
#include "formats/files/bytes.h"
#include "formats/files/zip.h"

#include <string.h>

enum {
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    CENTRAL_SIZE = 46,
    LOCAL_SIZE = 30,
    COMMENT_MAX = 65535,
    EXTRA_ZIP64 = 1,
};

/* Where the directory lies, as the end of the archive says. */
typedef struct place {
    uint64_t offset, size, count;
    uint64_t limit; /* the end record starts here: the directory lies before */
} place;

static bool is_record(const unsigned char *at, char third, char fourth) {
    return at[0] == 'P' && at[1] == 'K' && at[2] == (unsigned char)third &&
           at[3] == (unsigned char)fourth;
}

/* The end record is the last one whose comment reaches exactly to the end of the file. */
static const unsigned char *find_end(const unsigned char *tail, size_t length) {
    for (size_t back = END_SIZE; back <= length; back++) {
        const unsigned char *at = tail + length - back;
        if (is_record(at, 5, 6) && eg__get16(at + 20) == back - END_SIZE) return at;
    }
    return NULL;
}

static eg_status several_disks(eg_error *error) {
    return eg__fail(error, EG_ERR_UNSUPPORTED, "zip archive in several parts");
}

/* Values that do not fit the end record are in a zip64 record that a locator before it points to;
 * without a locator they are what they say. */
static eg_status apply_zip64(const eg__source *source, place *out, eg_error *error) {
    unsigned char locator[LOCATOR64_SIZE], end[END64_SIZE];
    if (out->limit < LOCATOR64_SIZE) return EG_OK;
    uint64_t before = out->limit - LOCATOR64_SIZE;
    eg_status status = eg__source_read(source, before, locator, sizeof locator, error);
    if (status) return status;
    if (!is_record(locator, 6, 7)) return EG_OK;
    uint64_t at = eg__get64(locator + 8);
    if (before < END64_SIZE || at > before - END64_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "zip64 end record at byte '%llu' of %llu",
                        (unsigned long long)at, (unsigned long long)source->size);
    status = eg__source_read(source, at, end, sizeof end, error);
    if (status) return status;
    if (!is_record(end, 6, 6))
        return eg__fail(error, EG_ERR_FORMAT, "no zip64 end record at byte '%llu'",
                        (unsigned long long)at);
    if (eg__get32(end + 16) || eg__get32(end + 20) || eg__get64(end + 24) != eg__get64(end + 32))
        return several_disks(error);
    *out = (place){eg__get64(end + 48), eg__get64(end + 40), eg__get64(end + 32), at};
    return EG_OK;
}

static eg_status parse_end(const eg__source *source, const unsigned char *end, uint64_t at,
                           place *out, eg_error *error) {
    *out = (place){eg__get32(end + 16), eg__get32(end + 12), eg__get16(end + 10), at};
    bool saturated =
        out->offset == UINT32_MAX || out->size == UINT32_MAX || out->count == UINT16_MAX;
    if (!saturated &&
        (eg__get16(end + 4) || eg__get16(end + 6) || eg__get16(end + 8) != out->count))
        return several_disks(error);
    eg_status status = saturated ? apply_zip64(source, out, error) : EG_OK;
    if (status) return status;
    if (out->offset > out->limit || out->size > out->limit - out->offset)
        return eg__fail(error, EG_ERR_FORMAT, "zip directory of %llu bytes at byte '%llu' of %llu",
                        (unsigned long long)out->size, (unsigned long long)out->offset,
                        (unsigned long long)source->size);
    if (out->count > out->size / CENTRAL_SIZE)
        return eg__fail(error, EG_ERR_FORMAT, "'%llu' members in a zip directory of %llu bytes",
                        (unsigned long long)out->count, (unsigned long long)out->size);
    return EG_OK;
}

static eg_status find_directory(eg__memory *memory, const eg__source *source, place *out,
                                eg_error *error) {
    size_t length = END_SIZE + COMMENT_MAX;
    if (source->size < length) length = (size_t)source->size;
    void *tail;
    eg_status status = eg__file_take(memory, EG_TAG_FILE, length, &tail, error);
    if (status) return status;
    uint64_t start = source->size - length;
    status = eg__source_read(source, start, tail, length, error);
    const unsigned char *end = status ? NULL : find_end(tail, length);
    if (end)
        status =
            parse_end(source, end, start + (uint64_t)(end - (unsigned char *)tail), out, error);
    else if (!status) status = eg__fail(error, EG_ERR_FORMAT, "no zip archive: its end is missing");
    eg__memory_give(memory, tail);
    return status;
}

/* Sizes of 2^32 - 1 stand in the zip64 field instead, in this order and only those. */
static bool apply_extra(const unsigned char *extra, size_t length, eg__zip_entry *entry) {
    uint64_t *const wide[] = {&entry->size, &entry->packed, &entry->offset};
    while (length >= 4) {
        size_t size = eg__get16(extra + 2);
        if (size > length - 4) return false;
        const unsigned char *at = extra + 4;
        if (eg__get16(extra) == EXTRA_ZIP64) {
            for (size_t i = 0, left = size; i < 3; i++) {
                if (*wide[i] != UINT32_MAX) continue;
                if (left < 8) return false;
                *wide[i] = eg__get64(at);
                at += 8;
                left -= 8;
            }
            return true;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return true;
}

static eg_status damaged(eg_error *error, size_t index) {
    return eg__fail(error, EG_ERR_FORMAT, "damaged zip directory at member '%zu'", index);
}

/* One entry; *used is its length in the directory. */
static bool parse_entry(const unsigned char *at, size_t left, eg__zip_entry *entry, size_t *used) {
    if (left < CENTRAL_SIZE || !is_record(at, 1, 2)) return false;
    size_t name = eg__get16(at + 28), extra = eg__get16(at + 30), comment = eg__get16(at + 32);
    *used = CENTRAL_SIZE + name + extra + comment;
    if (*used > left) return false;
    *entry = (eg__zip_entry){.name = (const char *)at + CENTRAL_SIZE,
                             .name_length = name,
                             .flags = eg__get16(at + 8),
                             .method = eg__get16(at + 10),
                             .crc = eg__get32(at + 16),
                             .packed = eg__get32(at + 20),
                             .size = eg__get32(at + 24),
                             .offset = eg__get32(at + 42)};
    return apply_extra(at + CENTRAL_SIZE + name, extra, entry);
}

static eg_status parse_directory(eg__zip *zip, size_t size, eg_error *error) {
    const unsigned char *at = zip->directory;
    /* What members take together fits before the directory, or some of them overlap: that is how a
     * small file would unpack to far more than its size allows. */
    uint64_t room = zip->directory_offset;
    for (size_t i = 0; i < zip->count; i++) {
        size_t used;
        eg__zip_entry *entry = &zip->entries[i];
        if (!parse_entry(at, size, entry, &used)) return damaged(error, i);
        uint64_t head = LOCAL_SIZE + entry->name_length;
        if (room < head || entry->packed > room - head || entry->offset > zip->directory_offset)
            return eg__fail(error, EG_ERR_FORMAT,
                            "no room for zip member '%zu', %llu bytes at byte %llu of %llu", i,
                            (unsigned long long)entry->packed, (unsigned long long)entry->offset,
                            (unsigned long long)zip->directory_offset);
        room -= head + entry->packed;
        if (eg__zip_swells(entry))
            zip->swelling += eg__min(entry->size, UINT64_MAX - zip->swelling);
        at += used;
        size -= used;
    }
    return size ? damaged(error, zip->count) : EG_OK;
}

eg_status eg__zip_open(eg__zip *out, eg__memory *memory, const eg__source *source,
                       eg_error *error) {
    memset(out, 0, sizeof *out);
    place where = {0};
    eg_status status = find_directory(memory, source, &where, error);
    if (status) return status;
    size_t bytes;
    if (where.size > SIZE_MAX || !eg__size_mul((size_t)where.count, sizeof *out->entries, &bytes))
        return eg__fail(error, EG_ERR_OVERFLOW, "zip directory of '%llu' bytes",
                        (unsigned long long)where.size);
    void *entries = NULL;
    status = eg__file_take(memory, EG_TAG_FILE, (size_t)where.size, &out->directory, error);
    if (!status) status = eg__file_take(memory, EG_TAG_FILE, bytes, &entries, error);
    if (!status)
        status = eg__source_read(source, where.offset, out->directory, (size_t)where.size, error);
    out->entries = entries;
    out->count = (size_t)where.count;
    out->directory_offset = where.offset;
    if (!status) status = parse_directory(out, (size_t)where.size, error);
    if (status) eg__zip_close(out, memory);
    return status;
}

void eg__zip_close(eg__zip *zip, eg__memory *memory) {
    eg__memory_give(memory, zip->entries);
    eg__memory_give(memory, zip->directory);
    memset(zip, 0, sizeof *zip);
}
