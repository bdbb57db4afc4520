/* Checks a member of a zip archive before its bytes are used. */
#include "formats/files/bytes.h"
#include "formats/files/zip.h"

#include <string.h>

enum {
    LOCAL_SIZE = 30,
    FLAG_ENCRYPTED = 1 << 0,
    FLAG_PATCH = 1 << 5,
    FLAG_STRONG = 1 << 6,
    FLAG_MASKED = 1 << 13,
    /* Deflate spends at least two bits on each 258 bytes, after a few bytes of tables. */
    RATIO_MAX = 1032,
    RATIO_SLACK = 64,
    /* A small file that unpacks to something large is treated as a zip bomb: real data have ratios
     * of 2 to 20. */
    RATIO_TRUSTED = 256,
};
static const uint64_t size_trusted = (uint64_t)64 << 20; /* bytes; below, whatever it is, it fits */

bool eg__zip_swells(const eg__zip_entry *entry) {
    return entry->method == EG__ZIP_DEFLATED && entry->size / RATIO_TRUSTED > entry->packed;
}

static eg_status refuse_method(unsigned method, eg_error *error) {
    static const struct {
        unsigned method;
        const char *name;
    } methods[] = {{1, "shrink"}, {6, "implode"}, {9, "deflate64"}, {12, "bzip2"},
                   {14, "lzma"},  {93, "zstd"},   {95, "xz"},       {99, "aes"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].method == method)
            return eg__fail(error, EG_ERR_UNSUPPORTED, "compressed with '%s'", methods[i].name);
    return eg__fail(error, EG_ERR_UNSUPPORTED, "compressed with method '%u'", method);
}

static eg_status check_entry(const eg__zip *zip, const eg__zip_entry *entry, eg_error *error) {
    if (entry->flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED))
        return eg__fail(error, EG_ERR_UNSUPPORTED, "encrypted");
    if (entry->flags & FLAG_PATCH) return eg__fail(error, EG_ERR_UNSUPPORTED, "patch data");
    if (entry->method != EG__ZIP_STORED && entry->method != EG__ZIP_DEFLATED)
        return refuse_method(entry->method, error);
    bool possible = entry->method == EG__ZIP_STORED
                        ? entry->size == entry->packed
                        : entry->size <= RATIO_SLACK ||
                              (entry->size - RATIO_SLACK - 1) / RATIO_MAX < entry->packed;
    if (possible && entry->size > size_trusted && eg__zip_swells(entry))
        return eg__fail(error, EG_ERR_FORMAT,
                        "%llu bytes would unpack to '%llu', more than %d times as many; if that is "
                        "right, save it uncompressed (numpy.savez)",
                        (unsigned long long)entry->packed, (unsigned long long)entry->size,
                        RATIO_TRUSTED);
    if (possible && zip->swelling > size_trusted && eg__zip_swells(entry))
        return eg__fail(
            error, EG_ERR_FORMAT,
            "%llu bytes would unpack to '%llu', more than %d times as many, and all such "
            "members to %llu; if that is right, save them uncompressed (numpy.savez)",
            (unsigned long long)entry->packed, (unsigned long long)entry->size, RATIO_TRUSTED,
            (unsigned long long)zip->swelling);
    if (possible) return EG_OK;
    return eg__fail(error, EG_ERR_FORMAT, "%llu bytes cannot unpack to '%llu'",
                    (unsigned long long)entry->packed, (unsigned long long)entry->size);
}

/* The same name at `offset` of the source; false also when it cannot be read. */
static bool has_name(const eg__source *source, uint64_t offset, const eg__zip_entry *entry) {
    char part[256];
    for (size_t at = 0; at < entry->name_length;) {
        size_t count = eg__min(sizeof part, entry->name_length - at);
        if (eg__source_read(source, offset + at, part, count, NULL)) return false;
        if (memcmp(part, entry->name + at, count) != 0) return false;
        at += count;
    }
    return true;
}

eg_status eg__zip_locate(const eg__zip *zip, const eg__source *source, const eg__zip_entry *entry,
                         uint64_t *start, eg_error *error) {
    eg_status status = check_entry(zip, entry, error);
    if (status) return status;
    unsigned char local[LOCAL_SIZE];
    status = eg__source_read(source, entry->offset, local, sizeof local, error);
    if (status) return status;
    size_t name = eg__get16(local + 26), extra = eg__get16(local + 28);
    /* Sizes and checksum of a local header may be left open; the directory has them. */
    if (eg__get32(local) != 0x04034b50 || eg__get16(local + 8) != entry->method ||
        name != entry->name_length || !has_name(source, entry->offset + LOCAL_SIZE, entry))
        return eg__fail(error, EG_ERR_FORMAT,
                        "no header that agrees with the directory at byte '%llu'",
                        (unsigned long long)entry->offset);
    *start = entry->offset + LOCAL_SIZE + name + extra;
    if (*start > zip->directory_offset || entry->packed > zip->directory_offset - *start)
        return eg__fail(error, EG_ERR_FORMAT, "data reach into the directory");
    return EG_OK;
}
