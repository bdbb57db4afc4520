/* The beginning of a file, read once, by which readers recognise their format. */
#ifndef EG__HEAD_H
#define EG__HEAD_H

#include "base/base.h"

enum { EG__HEAD_SIZE = 256 };

typedef struct eg__head {
    const char *path; /* NULL = these are bytes without a name */
    bool is_folder;
    bool unreadable; /* nothing is known but the name */
    size_t size;     /* bytes that are there: fewer than EG__HEAD_SIZE when the file is shorter */
    unsigned char bytes[EG__HEAD_SIZE];
} eg__head;

/* `path` must outlive *out. A file that cannot be read is not an error here: the reader that opens
 * it reports it. */
void eg__head_read(eg__head *out, const char *path);
void eg__head_of_bytes(eg__head *out, const void *bytes, size_t size);

/* Whether these bytes stand at byte `at`. */
bool eg__head_has(const eg__head *head, size_t at, const char *bytes, size_t length);
/* Whether the name ends so, in ".npy". */
bool eg__head_named(const eg__head *head, const char *end);
/* Whether it is a folder with such a file in it. */
bool eg__head_holds(const eg__head *head, const char *file);

#endif
