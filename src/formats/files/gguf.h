/* .gguf on tracked memory; the public functions are these with a context. */
#ifndef EG__GGUF_H
#define EG__GGUF_H

#include "elegans/gguf.h"
#include "formats/files/file.h"
#include "formats/files/head.h"

bool eg__gguf_is(const eg__head *head); /* by its first bytes */

enum { EG__GGUF_NAME_SIZE = 64 }; /* of a tensor, with a terminator */

/* ---- gguf_types.c: the element types of ggml */
typedef struct eg__ggml_type {
    const char *name;
    unsigned block, bytes; /* elements and bytes of a block; 0 = there is no such type any more */
} eg__ggml_type;
const eg__ggml_type *eg__ggml_type_get(uint32_t id); /* NULL = unknown, or removed */
size_t eg__gguf_type_bytes(uint32_t type); /* of a value in metadata; 0 = text, or unknown */
bool eg__gguf_type_known(uint32_t type);

/* ---- an open file */
typedef struct eg__gguf_entry {
    eg_gguf_entry about;
    const unsigned char *values; /* as in the file; a text is its length, then its bytes */
    uint64_t *starts;            /* of an array of texts: where each one lies, from `values` */
    char *key;                   /* about.key, to be given back */
} eg__gguf_entry;

typedef struct eg__gguf_tensor {
    eg_gguf_tensor about;
    char name[EG__GGUF_NAME_SIZE];
} eg__gguf_tensor;

struct eg_gguf {
    eg__memory *memory;
    eg__mapping mapping; /* nothing when the bytes are somebody else's */
    char *path;          /* NULL then, too */
    size_t entry_count, tensor_count;
    eg__gguf_entry *entries; /* in the order of the file */
    eg__gguf_tensor *tensors;
    eg__gguf_entry **entries_sorted; /* by key */
    eg__gguf_tensor **tensors_sorted;
};

/* Parses a whole file in memory that outlives *out and that nobody changes. */
eg_status eg__gguf_parse(eg__memory *memory, const void *bytes, size_t size, eg_gguf **out,
                         eg_error *error);
eg_status eg__gguf_load(eg__memory *memory, const char *path, bool maps, eg_gguf **out,
                        eg_error *error);

/* ---- gguf_entries.c, gguf_tensors.c: parts of the parser, on a cursor that never leaves the file */
typedef struct eg__gguf_cursor {
    const unsigned char *bytes;
    size_t size, at;
} eg__gguf_cursor;

/* The next `size` bytes, or NULL when the file has no so many. */
const unsigned char *eg__gguf_take(eg__gguf_cursor *cursor, uint64_t size);
eg_status eg__gguf_cut(const eg__gguf_cursor *cursor, const char *within, eg_error *error);
/* A text at the cursor. */
eg_status eg__gguf_take_text(eg__gguf_cursor *cursor, const char *what, const char **text,
                             size_t *length, eg_error *error);
eg_status eg__gguf_read_entries(eg_gguf *file, eg__gguf_cursor *cursor, uint64_t count,
                                eg_error *error);
eg_status eg__gguf_read_tensors(eg_gguf *file, eg__gguf_cursor *cursor, uint64_t count,
                                eg_error *error);

#endif
