/* Writes the records of a zip archive of stored members as Python's zipfile does for numpy.savez,
 * so that our archives and numpy's are the same bytes. */
#include "formats/files/bytes.h"
#include "formats/files/zip.h"

enum {
    VERSION = 45, /* of the specification: the first with zip64 */
    SYSTEM_UNIX = 3,
    DATE = 1 << 5 | 1, /* 1980-01-01: the same tensors give the same bytes on any day */
    PERMISSIONS = 0600,
    EXTRA_ZIP64 = 1,
    COUNT_LIMIT = UINT16_MAX,
};
/* Python goes over to zip64 early, at 2^31: some readers take these fields as signed. */
static const uint64_t size_limit = INT32_MAX;

/* The fields that both headers of a member share: flags to sizes, then the name's length. */
static unsigned char *put_common(unsigned char *at, const eg__zip_entry *entry, bool wide) {
    at = eg__put16(at, entry->flags);
    at = eg__put16(at, entry->method);
    at = eg__put16(at, 0); /* midnight */
    at = eg__put16(at, DATE);
    at = eg__put32(at, entry->crc);
    at = eg__put32(at, wide ? UINT32_MAX : (uint32_t)entry->packed);
    at = eg__put32(at, wide ? UINT32_MAX : (uint32_t)entry->size);
    return eg__put16(at, (uint16_t)entry->name_length);
}

static eg_status append_parts(eg__writer *writer, const eg__zip_entry *entry,
                              const unsigned char *head, const unsigned char *head_end,
                              const unsigned char *extra, const unsigned char *extra_end,
                              eg_error *error) {
    eg_status status = eg__writer_append(writer, head, (size_t)(head_end - head), error);
    if (!status) status = eg__writer_append(writer, entry->name, entry->name_length, error);
    if (!status) status = eg__writer_append(writer, extra, (size_t)(extra_end - extra), error);
    return status;
}

eg_status eg__zip_write_local(eg__writer *writer, const eg__zip_entry *entry, eg_error *error) {
    unsigned char head[32], extra[20], *at = eg__put32(head, 0x04034b50);
    at = eg__put16(at, VERSION);
    at = put_common(at, entry, true);
    at = eg__put16(at, sizeof extra);
    unsigned char *more = eg__put16(eg__put16(extra, EXTRA_ZIP64), 16);
    more = eg__put64(eg__put64(more, entry->size), entry->packed);
    return append_parts(writer, entry, head, at, extra, more, error);
}

static eg_status write_central(eg__writer *writer, const eg__zip_entry *entry, eg_error *error) {
    bool wide = entry->size > size_limit, far = entry->offset > size_limit;
    unsigned char head[48], extra[28], *more = extra;
    if (wide || far) {
        more = eg__put16(eg__put16(extra, EXTRA_ZIP64), (uint16_t)(16 * wide + 8 * far));
        if (wide) more = eg__put64(eg__put64(more, entry->size), entry->packed);
        if (far) more = eg__put64(more, entry->offset);
    }
    unsigned char *at = eg__put32(head, 0x02014b50);
    at = eg__put16(at, SYSTEM_UNIX << 8 | VERSION);
    at = eg__put16(at, VERSION);
    at = put_common(at, entry, wide);
    at = eg__put16(at, (uint16_t)(more - extra));
    at = eg__put16(at, 0); /* no comment */
    at = eg__put16(at, 0); /* one disk */
    at = eg__put16(at, 0); /* internal attributes */
    at = eg__put32(at, (uint32_t)PERMISSIONS << 16);
    at = eg__put32(at, far ? UINT32_MAX : (uint32_t)entry->offset);
    return append_parts(writer, entry, head, at, extra, more, error);
}

static eg_status write_end(eg__writer *writer, uint64_t offset, uint64_t size, uint64_t count,
                           eg_error *error) {
    unsigned char end[56 + 20 + 22], *at = end;
    if (count > COUNT_LIMIT || offset > size_limit || size > size_limit) {
        at = eg__put32(at, 0x06064b50);
        at = eg__put64(at, 44); /* bytes that follow */
        at = eg__put32(at, VERSION << 16 | VERSION);
        at = eg__put64(at, 0); /* one disk */
        at = eg__put64(eg__put64(at, count), count);
        at = eg__put64(eg__put64(at, size), offset);
        at = eg__put32(at, 0x07064b50);
        at = eg__put32(at, 0);
        at = eg__put64(at, offset + size);
        at = eg__put32(at, 1);
    }
    uint16_t small_count = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX);
    at = eg__put32(at, 0x06054b50);
    at = eg__put32(at, 0); /* one disk */
    at = eg__put16(eg__put16(at, small_count), small_count);
    at = eg__put32(at, (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX));
    at = eg__put32(at, (uint32_t)(offset < UINT32_MAX ? offset : UINT32_MAX));
    at = eg__put16(at, 0); /* no comment */
    return eg__writer_append(writer, end, (size_t)(at - end), error);
}

eg_status eg__zip_write_directory(eg__writer *writer, uint64_t offset, const eg__zip_entry *entries,
                                  size_t count, eg_error *error) {
    uint64_t start = writer->size;
    for (size_t i = 0; i < count; i++) {
        eg_status status = write_central(writer, &entries[i], error);
        if (status) return status;
    }
    return write_end(writer, offset, writer->size - start, count, error);
}
