/* One .npy array: its header, and decoding from memory, from a file, from an archive. */
#ifndef EG__NPY_H
#define EG__NPY_H

#include "elegans/tensor.h"
#include "formats/files/file.h"
#include "formats/files/head.h"

bool eg__npy_is(const eg__head *head); /* by its first bytes */

/* Bytes in order, `size` of them. `read` fills exactly what is asked for or fails. */
typedef struct eg__stream {
    eg_status (*read)(void *user, void *out, size_t size, eg_error *error);
    void *user;
    uint64_t size;
} eg__stream;

/* How elements lie in a file. Tables set `any`: numbers of every width and byte order, which no tensor has. */
typedef struct eg__npy_layout {
    bool any;
    bool fortran;  /* column-major: the first axis runs fastest */
    char kind;     /* 'f', 'i', 'u', 'b'; with `any` */
    unsigned size; /* bytes of an element */
    bool swapped;  /* big-endian */
} eg__npy_layout;
/* One element of a layout that was asked for with `any`. */
double eg__npy_value(const eg__npy_layout *layout, const void *data, size_t index);

/* The dictionary of a header (the text after its length) into type, rank and shape; `data` stays
 * NULL. Keys may come in any order and spacing. With `any` the type of the tensor is one of the same size. */
eg_status eg__npy_header_parse(const char *text, size_t length, eg__npy_layout *layout,
                               eg_tensor *out, eg_error *error);

/* What numpy.save writes before the data, from the magic on. It pads to a multiple of 64; up to
 * rank 6 that is always this. */
enum { EG__NPY_HEADER_SIZE = 128 };
eg_status eg__npy_header_format(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor,
                                eg_error *error);
/* The same, and the size of the data that follow, for a tensor whose data are there. */
eg_status eg__npy_prepare(char out[EG__NPY_HEADER_SIZE], const eg_tensor *tensor, size_t *size,
                          eg_error *error);

/* A whole .npy, no byte more or less; what is column-major there is row-major here. `layout` may be NULL. The
 * caller gives out->data back to `memory`; on failure *out is all zero. */
eg_status eg__npy_decode_stream(eg__memory *memory, const eg__stream *stream,
                                eg__npy_layout *layout, eg_tensor *out, eg_error *error);
eg_status eg__npy_decode(eg__memory *memory, const void *bytes, size_t length, eg_tensor *out,
                         eg_error *error);
eg_status eg__npy_load(eg__memory *memory, const char *path, eg__npy_layout *layout, eg_tensor *out,
                       eg_error *error);

#endif
