/* The zip container as far as arrays need it: its directory, the place of a member, inflating. */
#ifndef EG__ZIP_H
#define EG__ZIP_H

#include "formats/files/file.h"

enum { EG__ZIP_STORED = 0, EG__ZIP_DEFLATED = 8, EG__ZIP_NAME_MAX = 65535 };

typedef struct eg__zip_entry {
    const char *name; /* not terminated */
    size_t name_length;
    uint16_t flags, method;
    uint32_t crc;
    uint64_t offset; /* of its local header */
    uint64_t packed; /* bytes in the file */
    uint64_t size;   /* bytes after inflating */
} eg__zip_entry;

typedef struct eg__zip {
    eg__zip_entry *entries;
    size_t count;
    void *directory; /* as in the file: names point into it */
    uint64_t directory_offset;
    uint64_t swelling; /* total unpacked bytes of members with extreme compression */
} eg__zip;

/* Reads the directory, zip64 included. Members lie before it and do not overlap, as far as the sum
 * of their sizes tells. On failure *out is all zero. */
eg_status eg__zip_open(eg__zip *out, eg__memory *memory, const eg__source *source, eg_error *error);
void eg__zip_close(eg__zip *zip, eg__memory *memory);

/* Whether a member has an implausible compression ratio. A small one is harmless, so the archive is
 * judged by their total. */
bool eg__zip_swells(const eg__zip_entry *entry);
/* Checks that a member can be read (not encrypted, a known method, plausible sizes, alone and
 * together with other highly compressed ones) and that its local header agrees, and returns where
 * its bytes start. */
eg_status eg__zip_locate(const eg__zip *zip, const eg__source *source, const eg__zip_entry *entry,
                         uint64_t *start, eg_error *error);

/* The local header of a stored member at the writer's position, and the end of an archive, byte for
 * byte as Python's zipfile writes them for numpy.savez. */
eg_status eg__zip_write_local(eg__writer *writer, const eg__zip_entry *entry, eg_error *error);
/* `offset` is where in the archive the directory starts. */
eg_status eg__zip_write_directory(eg__writer *writer, uint64_t offset, const eg__zip_entry *entries,
                                  size_t count, eg_error *error);

/* CRC-32 of zip: start with 0, continue with the last result. */
uint32_t eg__crc32(uint32_t crc, const void *bytes, size_t size);

/* Inflates `size` bytes of raw deflate data at `offset` of a source that outlives it. Without zlib,
 * begin is EG_ERR_UNSUPPORTED. */
typedef struct eg__inflate eg__inflate;
eg_status eg__inflate_begin(eg__inflate **out, eg__memory *memory, const eg__source *source,
                            uint64_t offset, uint64_t size, eg_error *error);
/* Exactly `size` bytes; data that ends before or is damaged is EG_ERR_FORMAT. */
eg_status eg__inflate_read(eg__inflate *inflate, void *out, size_t size, eg_error *error);
/* EG_ERR_FORMAT unless the data end exactly here. */
eg_status eg__inflate_finish(eg__inflate *inflate, eg_error *error);
void eg__inflate_end(eg__inflate *inflate); /* NULL is fine */

#endif
