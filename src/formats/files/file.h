/* Files of every format: bytes read where they are needed, whole files, and writing beside. */
#ifndef EG__FILE_H
#define EG__FILE_H

#include "elegans/file.h"
#include "memory/memory.h"

/* ---- messages about files */

/* Adds " in <what> '<name>'" to the message of a failure on its way up (`what` may be "") and
 * returns the failure's status; `error` may be NULL. */
eg_status eg__file_blame(eg_error *error, eg_status status, const char *what, const char *name);

/* Copies bytes of a file for use in a message: cut to fit, what is not printable ASCII as '?'. */
const char *eg__file_quote(char *out, size_t capacity, const void *bytes, size_t length);

/* Whether a path ends so, in ".npy". */
bool eg__file_ends(const char *path, const char *end);

/* eg__memory_take for callers that need the status even if `error` is NULL. */
eg_status eg__file_take(eg__memory *memory, eg_tag tag, size_t size, void **out, eg_error *error);

/* ---- reading */

/* A source of bytes: an open file, or memory owned by the caller. */
typedef struct eg__source {
    const unsigned char *bytes; /* in memory when `descriptor` is -1 */
    int descriptor;
    uint64_t size;
} eg__source;

/* Regular files only. Close it, also after a failure if you like. */
eg_status eg__source_open(eg__source *out, const char *path, eg_error *error);
eg__source eg__source_of_bytes(const void *bytes, size_t length);
/* Exactly `size` bytes from `offset` on; a source that ends before is EG_ERR_FORMAT. Any thread. */
eg_status eg__source_read(const eg__source *source, uint64_t offset, void *out, size_t size,
                          eg_error *error);
void eg__source_close(eg__source *source);

/* The whole file, in memory with EG_TAG_FILE that the caller gives back. A file of more than
 * `limit` bytes is EG_ERR_FORMAT, before anything is taken. */
eg_status eg__file_read(eg__memory *memory, const char *path, uint64_t limit, void **bytes,
                        size_t *length, eg_error *error);

/* A whole file as memory that must not be written to. All zero is no file. */
typedef struct eg__mapping {
    const unsigned char *bytes;
    size_t size;
    void *mapped; /* the system's, or */
    void *taken;  /* ours, EG_TAG_FILE */
} eg__mapping;

/* Mapped where the system can, otherwise read; without `maps` always read: the pages of a file may lie
 * scattered, large pages do not. After a failure *out is all zero. */
eg_status eg__mapping_open(eg__mapping *out, eg__memory *memory, const char *path, bool maps,
                           eg_error *error);
/* The same without the system's help: eg__mapping_open falls back to it. */
eg_status eg__mapping_read(eg__mapping *out, eg__memory *memory, const eg__source *source,
                           eg_error *error);
void eg__mapping_close(eg__mapping *mapping, eg__memory *memory);
/* Makes the bytes writable (copy on write, the file does not change). False = not supported by the
 * system. */
bool eg__mapping_own(eg__mapping *mapping);
/* Releases the pages that lie entirely within these bytes; they are read again on access. Changes
 * to them are lost. No effect on bytes that are not mapped. */
void eg__mapping_forget(const eg__mapping *mapping, const void *bytes, size_t size);
/* Copies bytes that nobody has written to, and leaves none of their pages in memory; others just as well. */
void eg__mapping_copy(const eg__mapping *mapping, const void *bytes, size_t size, void *to);

/* ---- writing: into a temporary file in the same folder, which takes the name at the end */

enum { EG__PATH_SIZE = EG_FILE_PATH_SIZE, EG__WRITER_BUFFER = 16384 };

typedef struct eg__writer {
    eg_file_output file;
    uint64_t size;   /* appended so far */
    size_t buffered; /* of these, still in the buffer: formats append many small pieces */
    unsigned char buffer[EG__WRITER_BUFFER];
} eg__writer;

/* An existing file must be a regular one; through a symbolic link its target is replaced. After a
 * success, call eg__writer_commit or eg__writer_abort. */
eg_status eg__writer_begin(eg__writer *writer, const char *path, eg_error *error);
eg_status eg__writer_append(eg__writer *writer, const void *bytes, size_t size, eg_error *error);
/* Brings the bytes to the disk, then renames. On failure the old file is whole and the temporary
 * one is gone, as after an abort. */
eg_status eg__writer_commit(eg__writer *writer, eg_error *error);
void eg__writer_abort(eg__writer *writer);
/* Commits when `status` is EG_OK, aborts otherwise; returns what came of it. */
eg_status eg__writer_end(eg__writer *writer, eg_status status, eg_error *error);
/* A whole file from bytes in memory. */
eg_status eg__file_write(eg__memory *memory, const char *path, const void *bytes, size_t size,
                         eg_error *error);

#endif
