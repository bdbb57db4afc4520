/* .safetensors on tracked memory; the public functions are these with a context. */
#ifndef EG__SAFETENSORS_H
#define EG__SAFETENSORS_H

#include "elegans/safetensors.h"
#include "formats/files/file.h"
#include "formats/files/head.h"

enum {
    EG__SAFETENSORS_HEADER_MAX = 100000000, /* bytes of JSON; the format's own limit */
    EG__SAFETENSORS_RANK_MAX = 64           /* numpy and PyTorch make no more */
};

bool eg__safetensors_is(const eg__head *head); /* by its first bytes */

/* ---- types: all that the format has, with ours where there is one */
typedef struct eg__safetensors_dtype {
    const char *name; /* "F32" */
    unsigned bits;    /* per element; fewer than 8 are packed */
    int type;         /* an eg_type, or -1 */
} eg__safetensors_dtype;

const eg__safetensors_dtype *eg__safetensors_dtype_find(const char *name); /* NULL = unknown */
const eg__safetensors_dtype *eg__safetensors_dtype_of(eg_type type);       /* NULL = none */

/* ---- an open file */
typedef struct eg__safetensor {
    const char *name;
    const eg__safetensors_dtype *dtype;
    unsigned rank;
    uint64_t shape[EG_RANK_MAX]; /* of a larger rank, the first ones */
    uint64_t begin, end;         /* bytes, from the start of the data */
    const unsigned char *data;
} eg__safetensor;

struct eg_safetensors {
    eg__memory *memory;
    eg__mapping mapping;          /* nothing when the bytes are somebody else's */
    char *path;                   /* NULL then, too */
    size_t count, metadata_count; /* filled by eg__safetensors_header, with the four below */
    eg__safetensor *tensors;      /* in the order of the header */
    eg__safetensor **sorted;      /* the same, `count` places for it */
    eg_pair *metadata;
    char *texts;
    unsigned char *copies; /* of the tensors that the file did not align */
};

/* Parses a whole file in memory that outlives *out and that nobody changes. */
eg_status eg__safetensors_parse(eg__memory *memory, const void *bytes, size_t size,
                                eg_safetensors **out, eg_error *error);
eg_status eg__safetensors_open(eg__memory *memory, const char *path, bool maps,
                               eg_safetensors **out, eg_error *error);
eg_status eg__safetensors_save(eg__memory *memory, const char *path, size_t count,
                               const char *const *names, const eg_tensor *tensors,
                               size_t metadata_count, const eg_pair *metadata, eg_error *error);

/* ---- safetensors_sums.c: a last tensor "checksums" guards all others and the header: CRC-32 of the header with its
 * length, of each tensor in their order, and of these words. Every flipped bit is found. */
eg_status eg__safetensors_save_summed(eg__memory *memory, const char *path, size_t count,
                                      const char *const *names, const eg_tensor *tensors,
                                      size_t metadata_count, const eg_pair *metadata,
                                      eg_error *error);
/* EG_ERR_FORMAT names what is damaged; a file without checksums is refused, too. */
eg_status eg__safetensors_sums_check(const eg_safetensors *file, eg_error *error);

/* The first bytes of a file of these tensors, as eg__safetensors_save writes them; give it back. */
eg_status eg__safetensors_head(eg__memory *memory, size_t count, const char *const *names,
                               const eg_tensor *tensors, size_t metadata_count,
                               const eg_pair *metadata, void **out, size_t *size, eg_error *error);

/* Fills the lists of `file` from the JSON of a header. Each entry is sound by itself: a known
 * dtype, and end - begin the bytes of its shape. What was taken stays with `file`, also after a
 * failure. */
eg_status eg__safetensors_header(eg_safetensors *file, const char *text, size_t length,
                                 eg_error *error);

#endif
